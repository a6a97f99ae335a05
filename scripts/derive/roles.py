"""What part a norm plays, told by running the model: which norms were called behind the last layer, and which before the first."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel

from .worker import TooLong

if TYPE_CHECKING:
    from .patterns import Patterns
    from .survey import Site
    from .variations import Varied

_QK = re.compile(
    r"(^|[._])(q|k|query|key|qk|q_proj|k_proj)_?(layer_?norms?|norms?|ln|l2norm)(\.|$)|(^|[._])norm_(q|k|added_q|added_k)$"
)


_VISION = re.compile(r"(vision|visual|image)(_|$)|vit$")
_AUDIO = re.compile(r"(audio|speech)(_|$)")


@dataclass
class Run:
    """What one forward pass showed. `calls`: norm modules in order of their (first) call, with their outputs."""

    calls: dict[str, torch.Tensor] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    outputs: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    complete: bool = False


def run(model: torch.nn.Module, paths: set[str]) -> Run:
    """Run a model on made inputs, recording its norms, its layers' order and its submodels' outputs."""
    seen = Run()
    handles = []
    for path, module in model.named_modules():
        submodel = isinstance(module, PreTrainedModel)
        if path in paths or submodel or path.rpartition(".")[2].isdigit():
            handles.append(module.register_forward_hook(_hook(seen, path, norm=path in paths, submodel=submodel)))
    try:
        with torch.no_grad():
            model(**inputs(model))
        seen.complete = True
    except (KeyboardInterrupt, SystemExit, TooLong):
        raise
    except BaseException:  # noqa: BLE001 - inputs we cannot make, or a missing library (no Exception in transformers)
        seen.complete = False
    for handle in handles:
        handle.remove()
    return seen


def _hook(seen: Run, path: str, *, norm: bool, submodel: bool) -> Any:
    def hook(_module: Any, _args: Any, output: Any) -> None:
        seen.order.append(path)
        if norm and isinstance(output, torch.Tensor):
            seen.calls[path] = output
        if submodel:
            seen.outputs[path] = _tensors(output)

    return hook


def _tensors(output: Any) -> list[torch.Tensor]:
    values = output.values() if hasattr(output, "values") else output if isinstance(output, (tuple, list)) else [output]
    return [value for value in values if isinstance(value, torch.Tensor)]


def inputs(model: torch.nn.Module) -> dict[str, Any]:
    """Made inputs by the names that `forward` takes."""
    config = model.config
    names = set(inspect.signature(model.forward).parameters)
    generator = torch.Generator().manual_seed(5)
    made: dict[str, Any] = {}
    ids = torch.randint(3, 9, (1, 6), generator=generator)
    for name in ("input_ids", "decoder_input_ids"):
        if name in names:
            made[name] = ids
    image = getattr(config, "image_size", None)
    channels = getattr(config, "num_channels", None) or getattr(config, "in_channels", None) or 3
    if getattr(model, "main_input_name", "") == "pixel_values" and "pixel_values" in names:
        size = tuple(image) if isinstance(image, (list, tuple)) else (image or 64, image or 64)
        made["pixel_values"] = torch.randn(1, channels, *size, generator=generator)
    if getattr(model, "main_input_name", "") == "input_features" and "input_features" in names:
        bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", None) or 80
        length = 2 * (getattr(config, "max_source_positions", None) or 64)
        made["input_features"] = torch.randn(1, bins, length, generator=generator)
    if getattr(model, "main_input_name", "") == "input_values" and "input_values" in names:
        made["input_values"] = torch.randn(1, 4000, generator=generator)
    if getattr(model, "main_input_name", "") not in ("input_ids", "decoder_input_ids") and "input_ids" in made:
        main = getattr(model, "main_input_name", "")
        if main in made and "decoder_input_ids" in names:
            made.pop("input_ids")
    return made


class Roles:
    """The role and the stack of each norm of a type."""

    def __init__(self, varied: Varied, patterns: Patterns) -> None:
        self.model = varied.model
        self.patterns = patterns
        self.sites = varied.base.sites
        self.paths = {site.path for site in self.sites.values()}
        self.seen = run(self.model, self.paths)
        self.submodels = [path for path, module in self.model.named_modules() if isinstance(module, PreTrainedModel)]
        self.ran = True
        self._encodes = any("encoder" in site.path.split(".") for site in self.sites.values())
        self._run_apart()

    def _run_apart(self) -> None:
        """Submodels that the whole did not reach are run on their own."""
        for path in self.submodels:
            inside = {each for each in self.paths if path and each.startswith(f"{path}.")}
            if path and inside and not inside & set(self.seen.calls):
                module = self.model.get_submodule(path)
                apart = run(module, {each[len(path) + 1 :] for each in inside})
                self.seen.calls |= {f"{path}.{key}": value for key, value in apart.calls.items()}
                self.seen.order += [f"{path}.{key}" if key else path for key in apart.order]
                for key, value in apart.outputs.items():
                    self.seen.outputs[f"{path}.{key}" if key else path] = value

    def role(self, site: Site) -> str:
        """final, block, embedding, qk or other."""
        pattern, _ = self.patterns.split(site.stem)
        if _QK.search(site.stem.rpartition(".")[2]) or (_QK.search(site.stem) and pattern.parents()):
            return "qk"
        if pattern.parents():
            return "block"
        owner = self._owner(site.path)
        if owner is None:
            return "embedding" if "embed" in site.path else "other"
        depth = f"{owner}." if owner else ""
        direct = "." not in site.path[len(depth) :]
        if site.path in self.seen.calls:
            found = self._called(site, owner, depth, direct=direct)
        else:
            self.ran = False
            found = self._registered(site, depth, direct=direct)
        return "embedding" if found == "other" and "embed" in site.path else found

    def _called(self, site: Site, owner: str, depth: str, *, direct: bool) -> str:
        layers = self._layer_calls(depth)
        last = len(self.seen.order) - 1 - self.seen.order[::-1].index(site.path)
        if layers and last < layers[0]:
            return "embedding"
        output = self.seen.calls[site.path]
        ends = [tensor for path in self._around(owner) for tensor in self.seen.outputs.get(path, [])]
        if any(_holds(tensor, output) for tensor in ends):
            return "final"
        if layers and last > layers[-1]:
            return "final" if direct and not self._later_final(site, depth) else "other"
        return "other"

    def _later_final(self, site: Site, depth: str) -> bool:
        """Whether another direct norm of this owner is called later and is its end."""
        later = [
            other
            for other in self.sites.values()
            if other.path != site.path and other.path.startswith(depth) and "." not in other.path[len(depth) :]
        ]
        at = self.seen.order.index(site.path)
        return any(other.path in self.seen.order and self.seen.order.index(other.path) > at for other in later)

    def _around(self, owner: str) -> list[str]:
        return [path for path in self.submodels if path == owner or (owner.startswith(path) and path)] or [owner]

    def _layer_calls(self, depth: str) -> list[int]:
        """When the layers of an owner were called."""
        pattern = re.compile(re.escape(depth) + r"(?:[A-Za-z_]+\.)*[A-Za-z_]+\.\d+$")
        return [i for i, path in enumerate(self.seen.order) if pattern.match(path)]

    def _registered(self, site: Site, depth: str, *, direct: bool) -> str:
        """Without a run: by the order in which the modules stand in the class."""
        names = [path for path, _ in self.model.named_modules() if path.startswith(depth)]
        layers = [i for i, path in enumerate(names) if re.match(re.escape(depth) + r"[A-Za-z_.]+\.\d+$", path)]
        at = names.index(site.path) if site.path in names else -1
        if not layers or at < 0 or not direct:
            return "embedding" if "embed" in site.path else "other"
        return "final" if at > layers[-1] or not re.search(r"emb|pre", site.path[len(depth) :]) else "embedding"

    def _owner(self, path: str) -> str | None:
        """The innermost module around a norm that holds a list of layers beside it."""
        while path:
            path = path.rpartition(".")[0]
            module = self.model.get_submodule(path) if path else self.model
            for name, child in module.named_modules():
                if isinstance(child, torch.nn.ModuleList) and len(child) and name.count(".") <= 1:
                    return path
            if not path:
                return None
        return None

    def stack(self, site: Site) -> str:
        """decoder, encoder, vision, audio: by what the submodel around the norm reads, and what its modules are called."""
        tokens = site.path.split(".")
        decodes = self._has_decoder()
        if any(_VISION.match(token) for token in tokens[:-1]):
            return "vision"
        if any(_AUDIO.match(token) for token in tokens[:-1]) and "decoder" not in tokens:
            return "audio"
        for path in sorted(self.submodels, key=len, reverse=True):
            if path and not site.path.startswith(f"{path}."):
                continue
            module = self.model.get_submodule(path) if path else self.model
            main = getattr(module, "main_input_name", "input_ids")
            if main == "pixel_values" and not (decodes and "decoder" in tokens):
                return "vision"
            if main in ("input_features", "input_values") and "decoder" not in tokens:
                return "encoder" if "encoder" in tokens and decodes else "audio"
        if "decoder" not in tokens and ("encoder" in tokens or (not decodes and self._encodes)):
            return "encoder"
        return "decoder" if self._generates() or "decoder" in tokens else "encoder"

    def _has_decoder(self) -> bool:
        return any("decoder" in path.split(".") for path in self.submodels)

    def _generates(self) -> bool:
        name = type(self.model).__name__
        return bool(self.model.can_generate()) and not re.search(r"MaskedLM|PreTraining", name)


def _holds(output: torch.Tensor, norm: torch.Tensor) -> bool:
    """Whether a submodel's output is a norm's output, or a row of it."""
    if output.shape == norm.shape:
        return bool(torch.equal(output, norm))
    return output.numel() == norm.numel() and bool(torch.equal(output.flatten(), norm.flatten()))
