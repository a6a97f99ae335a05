"""Which modules of a model to listen at: those of the family's norms, or those that the caller names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import prod
from typing import TYPE_CHECKING, Any

from ln_audit.core import Checkpoint, Norm, TensorInfo
from ln_audit.demand import Demand
from ln_audit.errors import FamilyError, RecordingError, UsageError
from ln_audit.record import names, stated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.formats.config import Config

_HINT = 'name one: norm="model.norm", or the module itself; on the command line --norm NAME, or --all-norms'


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller asks to be recorded: norms by name or as modules, or all; and what only the caller may know."""

    norms: tuple[Any, ...] = ()
    all_norms: bool = False
    kind: str | None = None
    eps: float | None = None
    offset: float | None = None
    family: str | None = None
    digests: Mapping[str, frozenset[str]] = field(default_factory=dict)  # norm → what its gain may be in memory


@dataclass(frozen=True, slots=True)
class Located:
    """A norm in memory: its module, the name it has in the checkpoint, and what is known of it beside that."""

    name: str
    module: Any
    kind: str | None
    eps: float | None
    offset: float
    guessed: bool = False  # taken for a norm by its class name: left out where it turns out to be none


def located(model: Any, wanted: Wanted, norms: Sequence[Norm] | None = None) -> tuple[Located, ...]:
    """The modules to listen at; `norms` are those that the model's checkpoint is known to promise, if somebody knows.

    Raises `UsageError` for a name that is none, `RecordingError` where nobody says which.
    """
    modules = names.modules(model)
    norms = _promised(model, wanted) if norms is None else norms
    if wanted.norms:
        return tuple(_asked_for(model, each, modules, norms, wanted) for each in wanted.norms)
    if wanted.all_norms:
        chosen = [norm for norm in norms if _module(norm, modules, wanted) is not None]
        if not chosen:
            return _alike(modules, wanted)
    else:
        blocks = [norm for norm in norms if norm.role == "block"]  # a family without a final norm is held to these
        chosen = [norm for norm in norms if norm.role == "final" and norm.main]
        chosen = chosen or [norm for norm in blocks if norm.main] or blocks
    if not chosen:
        raise RecordingError(f"{_called(model)}: expected a norm to record, found {_why(model, norms)}", hint=_HINT)
    return tuple(_of(norm, modules, wanted, model) for norm in chosen)


def promised(model: Any, family: str | None = None) -> tuple[Norm, ...]:
    """The norms that the model's family promises, by its config and the names that its checkpoint has; () if unknown."""
    from ln_audit.families import contract, recognise
    from ln_audit.families.reading import readings

    config, checkpoint = _config(model), _as_checkpoint(model)
    if family is not None:
        known = recognise.given(family)
    else:
        found = recognise.identify(checkpoint, config)
        if found is None:
            return ()
        known = found[0]
    return contract.contract(readings(known, config, checkpoint), checkpoint, Demand())


def _promised(model: Any, wanted: Wanted) -> tuple[Norm, ...]:
    """The same; a family that cannot be told does not matter where the caller names the norm."""
    try:
        return promised(model, wanted.family)
    except FamilyError:
        if not wanted.norms and not wanted.all_norms:
            raise
        return ()


def _asked_for(model: Any, asked: Any, modules: Mapping[str, Any], norms: Sequence[Norm], wanted: Wanted) -> Located:
    """One norm that the caller named, or gave as a module."""
    if not isinstance(asked, str):
        for norm in norms:
            if _module(norm, modules, wanted) is asked:
                return _of(norm, modules, wanted, model)
        name = next((name for name, module in modules.items() if module is asked), type(asked).__name__)
        return _own(name, asked, wanted)
    called = next((norm for norm in norms if asked in (norm.name, norm.promised, norm.gain)), None)
    if called is not None:
        return _of(called, modules, wanted, model)
    module = modules.get(asked) or dict(model.named_modules()).get(asked)
    if module is None:
        near = get_close_matches(asked, modules, n=3, cutoff=0.3) or list(modules)[-3:]
        raise UsageError(
            f"--norm {asked}: expected a module of the model, found none of that name; near: {', '.join(near)}"
        )
    same = next((norm for norm in norms if _module(norm, modules, wanted) is module), None)
    return _own(asked, module, wanted) if same is None else _of(same, modules, wanted, model)


def _of(norm: Norm, modules: Mapping[str, Any], wanted: Wanted, model: Any) -> Located:
    """A promised norm in memory. Raises `RecordingError` where the model has no module of its name."""
    module = _module(norm, modules, wanted)
    if module is None:
        raise RecordingError(
            f"{_called(model)}: {norm.name}: expected a module of that name in the loaded model, found none", hint=_HINT
        )
    offset = norm.weight_offset if wanted.offset is None else wanted.offset
    eps = stated.epsilon(module) if wanted.eps is None else wanted.eps
    return Located(norm.name, module, wanted.kind or norm.kind, norm.eps if eps is None else eps, offset)


def _own(name: str, module: Any, wanted: Wanted) -> Located:
    """A module that no family knows: what it says itself, and what the caller says."""
    eps = stated.epsilon(module) if wanted.eps is None else wanted.eps
    return Located(name, module, wanted.kind or stated.kind(module), eps, wanted.offset or 0.0)


def _alike(modules: Mapping[str, Any], wanted: Wanted) -> tuple[Located, ...]:
    """Where the family is unknown: everything that is called a norm."""
    alike = {name: each for name, each in modules.items() if stated.looks_like_a_norm(each)}
    found = tuple(replace(_own(name, each, wanted), guessed=True) for name, each in alike.items())
    if not found:
        raise RecordingError(
            "the model: expected norms to record, found no module whose class is called one", hint=_HINT
        )
    return found


def _module(norm: Norm, modules: Mapping[str, Any], wanted: Wanted) -> Any | None:
    """The module of a promised norm: by its tensors' names, by its own, by the only outermost one that ends like it, else by
    the values of its gain.
    """
    for name in (*(tensor.rpartition(".")[0] for tensor in norm.tensors), norm.name, norm.promised):
        if name in modules:
            return modules[name]
    ending = [name for name in modules if norm.promised and name.endswith(f".{norm.promised}")]
    outermost = min((name.count(".") for name in ending), default=0)
    ending = [name for name in ending if name.count(".") == outermost]
    if len(ending) == 1:
        return modules[ending[0]]
    digests = wanted.digests.get(norm.name)
    alike = [each for each in modules.values() if stated.gain_digest(each, norm.width) in digests] if digests else []
    return alike[0] if len(alike) == 1 else None


def _config(model: Any) -> Config | None:
    from ln_audit.formats.config import Config

    held = getattr(getattr(model, "config", None), "to_dict", None)
    return Config(held(), "the model's config") if held is not None else None


def _as_checkpoint(model: Any) -> Checkpoint:
    """The model's tensors as the header of a checkpoint would list them; values are nobody's business here."""
    infos = {
        name: TensorInfo(name, str(tensor.dtype), tuple(tensor.shape), prod(tensor.shape) * tensor.itemsize)
        for name, tensor in names.tensors(model).items()
    }
    return Checkpoint("safetensors", (_called(model),), infos, read=lambda _: {})


def _called(model: Any) -> str:
    return type(model).__name__


def _why(model: Any, norms: Sequence[Norm]) -> str:
    if norms:
        return "a family without a norm of its own"
    config = _config(model)
    told = None if config is None else config.get("model_type")
    return f"an unknown family, model_type {told!r}" if told else "a model of no family that is known"
