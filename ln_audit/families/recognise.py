"""Which family a checkpoint belongs to: by model_type, then architectures, then the names themselves; and it says by what."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ln_audit.core import Checkpoint, Recognised
from ln_audit.errors import FamilyError, UsageError
from ln_audit.families import containers, layouts
from ln_audit.families.names import NORM
from ln_audit.families.spelling import unwrap
from ln_audit.families.table import parse
from ln_audit.formats.shown import shown
from ln_audit.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from ln_audit.core import TensorInfo
    from ln_audit.families.schema import Family
    from ln_audit.formats.config import Config

_MOST_LISTED = 8
WIDTHS = ("hidden_size", "n_embd", "d_model", "dim", "text_config.hidden_size")  # where configs of any family keep it
_LARGEST_TABLE = 1_000_000  # bytes; ours have 2,000
_NONE: Mapping[str, Family] = MappingProxyType({})
DATA = Path(__file__).with_name("data")


@lru_cache(maxsize=1)
def index() -> Mapping[str, Any]:
    """The generated index: model_type and architecture → the one table that needs to be read."""
    loaded: Mapping[str, Any] = json.loads((DATA / "index.json").read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=1)
def telling_names() -> Mapping[str, Any]:
    """Family → the names of tensors that tell it, and its prefixes; read only where a checkpoint does not say what it is."""
    loaded: Mapping[str, Any] = json.loads((DATA / "recognised_by.json").read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=8)
def load(name: str) -> Family:
    """The family `name` that ships with the package. Raises `UsageError` for an unknown name."""
    if name not in index()["families"]:
        by_type = index()["model_types"].get(name.lower()) or index()["architectures"].get(name)
        if by_type is not None:
            return load(by_type)
        known = [*index()["families"], *index()["model_types"], *index()["architectures"]]
        meant = did_you_mean(name, known)
        raise UsageError(
            f"family {shown(name)}: expected one of {len(index()['families'])} families, found none of that name",
            hint=f"{meant} `ln-audit families` lists them; a file works too: --family FILE.toml".lstrip(),
        )
    return parse((DATA / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def given(name: str, own: Mapping[str, Family] = _NONE) -> Family:
    """The family that the caller names: one of their policy, one of ours, or a TOML file. Raises `UsageError`."""
    if name in own:
        return own[name]
    if not name.endswith(".toml"):
        return load(name)
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            found = "no ordinary file"
        elif path.stat().st_size > _LARGEST_TABLE:
            found = f"more than {_LARGEST_TABLE:,} bytes"
        else:
            return parse(path.read_text(encoding="utf-8"), name)
    except (OSError, ValueError, FamilyError) as error:
        told = (error.strerror or "no file").lower() if isinstance(error, OSError) else str(error)
        raise UsageError(f"--family {name}: expected a family table, found {told}") from error
    raise UsageError(f"--family {name}: expected a family table, found {found}")


def identify(
    checkpoint: Checkpoint, config: Config | None, own: Mapping[str, Family] = _NONE
) -> tuple[Family, Recognised] | None:
    """The family of a checkpoint and by what it was recognised; None when nothing that we know fits.

    Families of the policy, `own`, come before ours.
    A container's word on itself comes first: its loaders read no config.json beside it. Raises `FamilyError` when two
    families fit the names equally well.
    """
    stated = containers.architecture(checkpoint)
    if stated is not None:
        return load(stated[0]), Recognised(*stated)
    if containers.stated_architecture(checkpoint) is not None:
        return None
    if config is not None:
        model_type = config.get("model_type")
        if config.has("model_type") and not isinstance(model_type, str):
            raise FamilyError(f"{config.where}: model_type: expected a string, found {shown(model_type)}")
        described = next((family for family in own.values() if model_type in family.model_types), None)
        if described is not None:
            return described, Recognised(
                described.name, f'model_type "{model_type}" in {config.where}, family of the policy'
            )
        if isinstance(model_type, str) and model_type in index()["model_types"]:
            name = index()["model_types"][model_type]
            return load(name), Recognised(name, f'model_type "{model_type}" in {config.where}')
        if isinstance(model_type, str):  # it says what it is, and it is none of ours: other names would only be a guess
            return _by_layout(checkpoint, config)
        architectures = config.get("architectures")
        for architecture in architectures if isinstance(architectures, list) else []:
            if isinstance(architecture, str) and architecture in index()["architectures"]:
                name = index()["architectures"][architecture]
                return load(name), Recognised(name, f'architecture "{architecture}" in {config.where}')
    return _by_layout(checkpoint, config) or _by_names(checkpoint)


def _by_layout(checkpoint: Checkpoint, config: Config | None) -> tuple[Family, Recognised] | None:
    """The family that a release under names of its own is of (Meta's Llama, ChatGLM), unless the config says another."""
    told = layouts.family(checkpoint, config)
    return (load(told[0]), Recognised(*told)) if told is not None and told[0] in index()["families"] else None


def _by_names(checkpoint: Checkpoint) -> tuple[Family, Recognised] | None:
    """The family whose telling names fit best; none where two fit equally.

    All telling names but those of norms must be there: a norm that was lost must not hide the family that misses it. Of
    several families it is the one of which fewest names are missing, then the one with the most.
    """
    plain = _with_unwrapped(containers.view(checkpoint, None).actual)
    fitting: dict[str, tuple[int, int]] = {}
    for name, telling in telling_names().items():
        seen = plain
        if containers.renames(checkpoint, name):
            seen = _with_unwrapped(containers.view(checkpoint, name).actual)
        counts = [_fit(telling["names"], prefix, seen) for prefix in telling["prefixes"]]
        known = [count for count in counts if count is not None]
        if known:
            fitting[name] = min(known)
    best = [name for name, fit in fitting.items() if fit == min(fitting.values())]
    if len(best) > 1:
        more = f" and {len(best) - _MOST_LISTED} more" if len(best) > _MOST_LISTED else ""
        raise FamilyError(
            f"{checkpoint.files[0]}: expected the names of one family, found those of {', '.join(best[:_MOST_LISTED])}{more}",
            hint="say which with --family NAME, or give the model's config.json with --config",
        )
    if not best:
        return None
    telling = telling_names()[best[0]]["names"]
    return load(best[0]), Recognised(best[0], f"tensor names ({', '.join(telling[:2])}, …)")


def _fit(names: Sequence[str], prefix: str, seen: Container[str]) -> tuple[int, int] | None:
    """How badly a family's names fit: (missing, −found); None where one that is no norm's is missing."""
    missing = 0
    for name in names:
        if prefix + name not in seen:
            if not NORM.search(name):
                return None
            missing += 1
    return (missing, missing - len(names)) if missing < len(names) else None


def _with_unwrapped(names: Iterable[str]) -> frozenset[str]:
    known = tuple(names)
    return frozenset((*known, *(bare for name in known for bare in unwrap(name))))


def candidates(checkpoint: Checkpoint, config: Config | None, taken: Iterable[str] = ()) -> list[str]:
    """One-dimensional tensors of the model's width, but those `taken`: what could be a norm where the family is unknown."""
    named = _fitting(checkpoint, config, frozenset(taken))
    more = [f"and {len(named) - _MOST_LISTED:,} more"] if len(named) > _MOST_LISTED else []
    return [f"{t.name} [{t.shape[0]}]" for t in named[-_MOST_LISTED:]] + more


def gains(checkpoint: Checkpoint, config: Config | None) -> list[str]:
    """All candidates that could be a gain: no bias among them."""
    return [t.name for t in _fitting(checkpoint, config, frozenset()) if not t.name.endswith(".bias")]


def _fitting(checkpoint: Checkpoint, config: Config | None, taken: Container[str]) -> list[TensorInfo]:
    width = None if config is None else next((config.get(k) for k in WIDTHS if config.get(k)), None)
    flat = [t for t in checkpoint.tensors.values() if len(t.shape) == 1 and t.name not in taken]
    fitting = [t for t in flat if width is None or t.shape[0] == width]
    return [t for t in fitting if NORM.search(t.name)] or fitting
