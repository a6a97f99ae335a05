"""How a container spells the names that a family promises, and where it keeps what config.json would say.

A container's names are turned into the family's own once; everything behind works on those. The tables are
`data/names/<format>.toml`; a format without a table spells names as the Hub does.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.formats.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ln_audit.core import Checkpoint

_DATA = Path(__file__).with_name("data") / "names"
_UNCOVERED = "?"  # before a name that no rule of the container covers
_LAYER = r"(?P<layer>0|[1-9][0-9]{0,6})"


@dataclass(frozen=True, slots=True)
class Names:
    """One family's names in a container: modules (with `{layer}`), leaves, and whole tensor names that follow no rule."""

    modules: Mapping[str, str] = field(default_factory=dict)  # the family's → the container's
    leaves: Mapping[str, str] = field(default_factory=dict)
    whole: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)  # config.json's key → the container's
    weight_offset: float | None = None  # where the container stores another convention than the Hub's files


@dataclass(frozen=True, slots=True)
class Container:
    """What one format's table says. `defaults`: whether its loaders take a default where a key is missing."""

    format: str
    families: Mapping[str, Names]
    architecture_key: str | None = None
    architectures: Mapping[str, str] = field(default_factory=dict)
    defaults: bool = True
    epsilon_keys: tuple[str, ...] = ()
    separators: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    leaves: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=8)
def container(format_: str) -> Container | None:
    """The table of a format, None where names are the Hub's."""
    path = _DATA / f"{'npz' if format_ == 'npy' else format_}.toml"  # an unpacked archive
    if not path.exists():
        return None
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    families = {
        name: Names(rows.get("names", {}), rows.get("leaves", {}), rows.get("whole", {}), rows.get("config", {}), rows.get("weight_offset"))
        for name, rows in table.get("families", {}).items()
    }  # fmt: skip
    return Container(
        table["format"],
        families,
        table.get("architecture_key"),
        table.get("architectures", {}),
        table.get("defaults", True),
        tuple(table.get("epsilon_keys", ())),
        tuple(table.get("separators", ())),
        tuple(table.get("containers", ())),
        table.get("leaves", {}),
    )


@dataclass(frozen=True, slots=True)
class View:
    """A checkpoint's tensors under the family's own names, and the way back to those of the file."""

    actual: Mapping[str, str]  # the family's name → the file's; what no rule covers stands behind a `?`
    names: Names | None = None
    doubled: Mapping[str, Sequence[str]] = field(default_factory=dict)  # further tensors that read as the same name

    @property
    def uncovered(self) -> list[str]:
        """Tensors whose names follow none of the container's rules; empty where a container has no rules of its own."""
        return [name for own, name in self.actual.items() if own.startswith(_UNCOVERED)]

    def spelt(self, name: str) -> str:
        """The file's name for one of the family's; for one that is missing, the name it would have."""
        found = self.actual.get(name)
        return found if found is not None else _to_container(name, self.names) if self.names is not None else name


def view(checkpoint: Checkpoint, family: str | None) -> View:
    """The checkpoint as the family names it. A loader does not look for a name that no rule covers, and nor do we."""
    table = container(checkpoint.format)
    if table is None:
        return View({name: name for name in checkpoint.tensors})
    names = None if family is None else table.families.get(family)
    actual: dict[str, str] = {}
    doubled: dict[str, list[str]] = {}
    for name in checkpoint.tensors:
        own = _from_container(name, names) if names is not None else _plain(name, table)
        if actual.setdefault(own, name) != name:
            doubled.setdefault(own, []).append(name)
    return View(actual, names, doubled)


def _plain(name: str, table: Container) -> str:
    """A name without the container's root, its separators and its leaf names."""
    for root in table.roots:
        name = name.removeprefix(root)
    for separator in table.separators:
        name = name.replace(separator, ".")
    stem, dot, leaf = name.rpartition(".")
    back = {theirs: ours for ours, theirs in table.leaves.items()}
    return f"{stem}{dot}{back.get(leaf, leaf)}"


def _from_container(name: str, names: Names) -> str:
    for ours, theirs in names.whole.items():
        if name == theirs:
            return ours
    separator = "/" if names.leaves else "."
    stem, _, leaf = name.rpartition(separator)
    back = {theirs: ours for ours, theirs in names.leaves.items()}
    for pattern, ours in _patterns(tuple(names.modules.items())):
        match = pattern.fullmatch(stem)
        if match is not None:
            module = ours.replace("{layer}", match["layer"]) if "{layer}" in ours else ours
            return f"{module}.{back.get(leaf, leaf)}"
    return f"{_UNCOVERED}{name}"


def _to_container(name: str, names: Names) -> str:
    if name in names.whole:
        return names.whole[name]
    stem, _, leaf = name.rpartition(".")
    for ours, theirs in names.modules.items():
        match = re.fullmatch(re.escape(ours).replace(r"\{layer\}", _LAYER), stem)
        if match is not None:
            module = theirs.replace("{layer}", match["layer"]) if "{layer}" in theirs else theirs
            return f"{module}/{names.leaves[leaf]}" if names.leaves else f"{module}.{leaf}"
    return name


@lru_cache(maxsize=16)
def _patterns(modules: tuple[tuple[str, str], ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(re.escape(theirs).replace(r"\{layer\}", _LAYER)), ours) for ours, theirs in modules)


def architecture(checkpoint: Checkpoint) -> tuple[str, str] | None:
    """(family, what the container says of itself) where it names its architecture and we know it."""
    table = container(checkpoint.format)
    if table is None or table.architecture_key is None:
        return None
    stated = _declared(checkpoint).get(table.architecture_key)
    family = table.architectures.get(stated) if isinstance(stated, str) else None
    return None if family is None else (family, f'{table.architecture_key} "{stated}" in {checkpoint.files[0]}')


def stated_architecture(checkpoint: Checkpoint) -> str | None:
    """What the container calls its architecture, known to us or not."""
    table = container(checkpoint.format)
    stated = (
        None if table is None or table.architecture_key is None else _declared(checkpoint).get(table.architecture_key)
    )
    return stated if isinstance(stated, str) else None


def config(checkpoint: Checkpoint, family: str) -> Config | None:
    """What the container states itself, under config.json's keys; None where it states nothing of that."""
    table = container(checkpoint.format)
    names = None if table is None else table.families.get(family)
    if names is None or not names.config:
        return None
    stated = _declared(checkpoint)
    found = {ours: stated[theirs] for ours, theirs in names.config.items() if theirs in stated}
    return Config(found, checkpoint.files[0]) if found else None


def has_no_epsilon(checkpoint: Checkpoint, family: str, keys: Sequence[str]) -> bool:
    """Whether this container's own config never holds one (OpenAI's hparams.json), so that its absence says nothing."""
    table = container(checkpoint.format)
    names = None if table is None else table.families.get(family)
    return names is not None and bool(names.config) and not any(key in names.config for key in keys)


def missing_epsilon(checkpoint: Checkpoint, family: str | None = None, keys: Sequence[str] = ()) -> str | None:
    """What a loader of this container would miss: no epsilon where it takes no default. None otherwise.

    Of a known family it is the family's own key that a loader asks for; without one, any key of an epsilon will do.
    """
    table = container(checkpoint.format)
    if table is None or table.defaults:
        return None
    names = None if family is None else table.families.get(family)
    if names is not None:
        return missing(checkpoint, names, keys)
    found = [key for key, _ in _facts(checkpoint) if key.endswith(table.epsilon_keys)]
    return None if found else " or ".join(f"<architecture>.{key}" for key in table.epsilon_keys)


def missing_size(checkpoint: Checkpoint, family: str, keys: Iterable[str]) -> str | None:
    """The size that this container's loaders insist on and do not find; None where none is lacking."""
    table = container(checkpoint.format)
    names = None if table is None or table.defaults else table.families.get(family)
    return None if names is None else next(filter(None, (missing(checkpoint, names, [key]) for key in keys)), None)


def missing(checkpoint: Checkpoint, names: Names, keys: Sequence[str]) -> str | None:
    """The container's spellings of `keys` when it states none of them; None when it does, or has no such key."""
    wanted, stated = [names.config[key] for key in keys if key in names.config], _declared(checkpoint)
    return None if not wanted or any(key in stated for key in wanted) else " or ".join(wanted)


def _declared(checkpoint: Checkpoint) -> Mapping[str, Any]:
    return dict(_facts(checkpoint))


def _facts(checkpoint: Checkpoint) -> Iterator[tuple[str, object]]:
    return ((fact.key, fact.value) for fact in checkpoint.declared)
