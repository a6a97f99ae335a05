"""One model, walked: the tensors as `save_pretrained` would write them, and its norms under those names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    WeightConverter,
    WeightRenaming,
    rename_source_key,
    revert_weight_conversion,
)

from . import norms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


_EXPERTS = re.compile(r"\.experts\.(?:[2-9]|\d\d+)\.")  # all alike and without norms: two of them are enough


@dataclass(frozen=True)
class Site:
    """One norm of a model: its module's path, its saved name without the leaf, the shape of its gain (empty: it has none)."""

    path: str
    stem: str
    cls: str
    shape: tuple[int, ...]
    gain: str | None  # the saved leaf: "weight"
    bias: str | None
    measured: norms.Measured | None = None

    @property
    def unit(self) -> tuple[Any, ...]:
        """What two configs must agree in for the norm to be the same promise."""
        return (self.cls, self.gain, self.bias)


@dataclass
class Survey:
    """A model's tensors (saved name → shape) and norms (saved stem → site)."""

    tensors: Mapping[str, tuple[int, ...]]
    sites: dict[str, Site]
    base: str  # what stands before the saved names of the base model's tensors
    saved: Mapping[str, str] = field(default_factory=dict)  # module's tensor name → saved name


class Kinds:
    """Which classes were found to be norms when they were run: on meta that is all there is to go by."""

    def __init__(self) -> None:
        self.classes: dict[tuple[str, tuple[str, ...]], bool] = {}

    def measured(self, module: torch.nn.Module) -> norms.Measured | None:
        found = norms.measured(module)
        self.classes[_class(module)] = found is not None or self.classes.get(_class(module), False)
        return found

    def known(self, module: torch.nn.Module) -> bool | None:
        """Whether a module on meta is a norm; None when its class was never measured."""
        return self.classes.get(_class(module))


def _class(module: torch.nn.Module) -> tuple[str, tuple[str, ...]]:
    leaves = tuple(f"{name}:{p.ndim}" for name, p in module.named_parameters(recurse=False))
    return f"{type(module).__module__}.{type(module).__qualname__}", leaves


@dataclass
class Written:
    """What `save_pretrained` would write: tensors by name, the module's name → the saved one, names that are tied away."""

    tensors: dict[str, torch.Tensor]
    saved: dict[str, str]
    tied: set[str]


def written(model: torch.nn.Module) -> Written:
    """The model's tensors under their saved names."""
    state = model.state_dict()
    tied = _tied(model, state)
    renamed = revert_weight_conversion(model, dict(state))
    own = {id(tensor): name for name, tensor in state.items()}
    saved = {own[id(tensor)]: name for name, tensor in renamed.items() if id(tensor) in own}
    dropped = {saved[name] for name in tied if name in saved}
    kept = {name: each for name, each in renamed.items() if name not in dropped and not _EXPERTS.search(name)}
    return Written(kept, saved, tied)


def survey(model: torch.nn.Module, kinds: Kinds, *, meta: bool) -> Survey:
    """Walk a model. Raises `Unmeasured` on meta where it meets a class that was never measured."""
    found = written(model)
    base = _base(model, found.saved)
    sites: dict[str, Site] = {}
    for path, module in norms.candidates(model):
        known = kinds.known(module) if meta else None
        if meta and known is None:
            raise Unmeasured(path)
        measured = None if meta else kinds.measured(module)
        if known or measured is not None:
            site = _site(path, module, measured, found.saved, base, found.tied)
            if site is not None:
                sites.setdefault(site.stem, site)
    return Survey({name: tuple(tensor.shape) for name, tensor in found.tensors.items()}, sites, base[1], found.saved)


class Unmeasured(Exception):  # noqa: N818 - not an error: the model is then built for real
    """A module on meta whose class was never run on numbers."""


def _tied(model: torch.nn.Module, state: Mapping[str, Any]) -> set[str]:
    """Names that `save_pretrained` drops because another name holds the same tensor."""
    keys = getattr(model, "all_tied_weights_keys", None) or {}
    named = dict(model.named_parameters(remove_duplicate=False))
    return {k for k, source in keys.items() if k in state and named.get(k) is named.get(source, object())}


def _base(model: torch.nn.Module, saved: Mapping[str, str]) -> tuple[str, str]:
    """What stands before the base model's tensors: as module names, as saved names."""
    prefix = getattr(model, "base_model_prefix", "")
    module = f"{prefix}." if prefix and hasattr(model, prefix) and getattr(model, prefix) is not model else ""
    if not module:
        return "", ""
    votes: dict[str, int] = {}
    for name, written in saved.items():
        if name.startswith(module):
            rest = name[len(module) :]
            if written.endswith(rest):
                votes[written[: len(written) - len(rest)]] = votes.get(written[: len(written) - len(rest)], 0) + 1
    if not votes:  # everything is renamed: the first token that all have in common
        firsts = {written.split(".")[0] for name, written in saved.items() if name.startswith(module)}
        return module, f"{firsts.pop()}." if len(firsts) == 1 else ""
    return module, max(votes, key=lambda key: votes[key])


def _site(
    path: str,
    module: torch.nn.Module,
    measured: norms.Measured | None,
    saved: Mapping[str, str],
    base: tuple[str, str],
    tied: set[str],
) -> Site | None:
    names = [name for name, _ in module.named_parameters(recurse=False)]
    held = [name for name, _ in module.named_buffers(recurse=False)]
    gain = measured.gain if measured else next((n for n in (*names, *held) if n not in ("bias", "running_mean")), None)
    bias = measured.bias if measured else next((n for n in (*names, *held) if n == "bias"), None)
    if any(f"{path}.{leaf}" in tied for leaf in (gain, bias) if leaf):
        return None
    if gain is None and bias is None:
        stem = base[1] + path[len(base[0]) :] if base[0] and path.startswith(base[0]) else path
        return Site(path, stem, _class(module)[0], (), None, None, measured)
    leaves = {leaf: saved.get(f"{path}.{leaf}") for leaf in (gain, bias) if leaf}
    if None in leaves.values():
        return None  # converted on saving: no tensor of its own
    stems = {str(name).rpartition(".")[0] for name in leaves.values()}
    if len(stems) > 1:
        return None
    tensor = getattr(module, gain) if gain else getattr(module, str(bias))
    leaf = {key: str(name).rpartition(".")[2] for key, name in leaves.items()}
    own = _class(module)[0]
    return Site(path, stems.pop(), own, tuple(tensor.shape), leaf.get(str(gain)), leaf.get(str(bias)), measured)


def accepts(model: torch.nn.Module, name: str, wanted: str) -> bool:
    """Whether the loader takes the checkpoint's tensor `name` for the module's tensor `wanted`."""
    transforms = get_model_conversion_mapping(model)
    renamings = [each for each in transforms if isinstance(each, WeightRenaming)]
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    state = model.state_dict()
    try:
        found, _ = rename_source_key(name, renamings, converters, model.base_model_prefix, state)
    except (re.error, KeyError, IndexError):
        return False
    return found == wanted
