"""How a container spells the names that a family promises, and where it keeps what config.json would say.

A container's names are turned into the family's own once; everything behind works on those. The tables are in `data/names`,
see `names_index.py`; a checkpoint of which no table speaks spells names as the Hub does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ln_audit.families import layouts
from ln_audit.families.names_index import container, index, of_architecture
from ln_audit.formats.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ln_audit.core import Checkpoint
    from ln_audit.families.names_table import Container, Layout, Names

_UNCOVERED = "?"  # before a name that no rule of the container covers


@dataclass(frozen=True, slots=True)
class View:
    """A checkpoint's tensors under the family's own names, and the way back to those of the file.

    `offset_unknown`: whether a gain that the family stores without its 1 still is so here; nothing in such a file says it.
    """

    actual: Mapping[str, str]  # the family's name → the file's; what no rule covers stands behind a `?`
    names: Names | None = None
    doubled: Mapping[str, Sequence[str]] = field(default_factory=dict)  # further tensors that read as the same name
    offset_unknown: bool = False
    layout: str | None = None  # the release whose names these are, where it is not the Hub's

    @property
    def uncovered(self) -> list[str]:
        """Tensors whose names follow none of the container's rules; empty where a container has no rules of its own."""
        return [] if self.names is None else [name for own, name in self.actual.items() if own.startswith(_UNCOVERED)]

    def spelt(self, name: str) -> str:
        """The file's name for one of the family's; for one that is missing, the name it would have."""
        found = self.actual.get(name)
        if found is not None or self.names is None:
            return name if found is None else found
        return self.names.theirs(name) or name


class _Same(Mapping[str, str]):
    """Names that are what they are: no copy of them for each family that is tried."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> str:
        if name in self._names:
            return name
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def view(checkpoint: Checkpoint, family: str | None) -> View:
    """The checkpoint as the family names it. A loader does not look for a name that no rule covers, and nor do we."""
    table = container(checkpoint.format)
    layout = layouts.find(checkpoint) if table is None or table.plain is not None else None
    told = layout or table
    if told is None:
        return View(_Same(checkpoint.tensors))
    names = _names(checkpoint, table, layout, family)
    called = None if layout is None else layout.name
    doubted = told.offset_unknown
    unknown = doubted if isinstance(doubted, bool) else family in doubted
    if names is not None:
        actual, doubled = _renamed(checkpoint, names.ours)
        there = _optional(names, _declared(checkpoint))
        names = replace(names, config={**names.config, **there}) if there else names
        return View(actual, names, doubled, unknown, called)
    if told.plain is None:
        return View(_Same(checkpoint.tensors), None, {}, unknown, called)
    actual, doubled = _renamed(checkpoint, told.plain)
    return View(actual, None, doubled, unknown, called)


def _renamed(
    checkpoint: Checkpoint, rename: Callable[[str], str | None]
) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    actual: dict[str, str] = {}
    doubled: dict[str, list[str]] = {}
    for name in checkpoint.tensors:
        own = rename(name) or f"{_UNCOVERED}{name}"
        if actual.setdefault(own, name) != name:
            doubled.setdefault(own, []).append(name)
    return actual, doubled


def _names(checkpoint: Checkpoint, table: Container | None, layout: Layout | None, family: str | None) -> Names | None:
    """The family's names in this container: in the layout it has, by the architecture it states, else by its format."""
    if family is None:
        return None
    if layout is not None:
        return layout.families.get(family)
    if table is None:
        return None
    stated = stated_architecture(checkpoint)
    if stated is not None and index().get(table.format, {}).get(stated) == family:
        return of_architecture(table.format, stated, checkpoint.tensors)
    usual = index().get("families", {}).get(table.format, {}).get(family)
    return table.families.get(family) if usual is None else of_architecture(table.format, usual)


def names_of(checkpoint: Checkpoint, family: str) -> Names | None:
    """The family's names in this container, None where they are the Hub's."""
    table = container(checkpoint.format)
    layout = layouts.find(checkpoint) if table is None or table.plain is not None else None
    return _names(checkpoint, table, layout, family)


def renames(checkpoint: Checkpoint, family: str) -> bool:
    """Whether this container has names of its own for the family, so that its names must be seen through the family's."""
    return names_of(checkpoint, family) is not None


def architecture(checkpoint: Checkpoint) -> tuple[str, str] | None:
    """(family, what the container says of itself) where it names its architecture and we know it."""
    table, stated = container(checkpoint.format), stated_architecture(checkpoint)
    if table is None or stated is None:
        return None
    family = index().get(table.format, {}).get(stated)
    return None if family is None else (family, f'{table.architecture_key} "{stated}" in {checkpoint.files[0]}')


def stated_architecture(checkpoint: Checkpoint) -> str | None:
    """What the container calls its architecture, known to us or not."""
    table = container(checkpoint.format)
    key = None if table is None else table.architecture_key
    stated = None if key is None else next((fact.value for fact in checkpoint.declared if fact.key == key), None)
    return stated if isinstance(stated, str) else None


def config(checkpoint: Checkpoint, family: str) -> Config | None:
    """What the container states itself, under config.json's keys; None where it states nothing of that."""
    names = names_of(checkpoint, family)
    if names is None or not (names.config or names.optional):
        return None
    stated = _declared(checkpoint)
    keys = {**_optional(names, stated), **names.config}
    found = {ours: _value(stated, theirs, names.less.get(ours)) for ours, theirs in keys.items() if theirs in stated}
    for ours, (above, below) in names.quotients.items():
        whole, part = stated.get(above), stated.get(below)
        if type(whole) is int and type(part) is int and part > 0 and whole % part == 0:
            found[ours] = whole // part
    return Config({**names.fixed, **found}, checkpoint.files[0], spelt=keys) if found else None


def _optional(names: Names, stated: Mapping[str, Any]) -> dict[str, str]:
    """The keys that this file states of those that it may; a 0 stands for a part that the model has not."""
    keys = {ours: theirs for ours, theirs in names.optional.items() if stated.get(theirs, 0) != 0}
    for ours, (above, below) in names.quotients.items():
        if above in stated and below in stated:
            keys[ours] = f"{above} / {below}"
    return keys | dict.fromkeys(names.fixed, "the architecture")


def _value(stated: Mapping[str, Any], key: str, less: str | None) -> object:
    """One value; of a list with one for each layer the one that all layers have which have any (0 is an SSM's heads)."""
    value = stated[key]
    if isinstance(value, tuple) and len(each := set(value) - {0}) == 1:
        (value,) = each
    taken = stated.get(less, 0) if less is not None else 0
    return value - taken if taken and type(value) is int and type(taken) is int else value


def stated_epsilon(checkpoint: Checkpoint, family: str) -> tuple[str, object] | None:
    """(key, value) of the epsilon that the container writes for a family that has no config key for it; its loader reads it."""
    names = names_of(checkpoint, family)
    key = None if names is None else names.epsilon
    found = [fact.value for fact in checkpoint.declared if fact.key == key]
    return (key, found[0]) if key is not None and found else None


def has_no_epsilon(checkpoint: Checkpoint, family: str, keys: Sequence[str]) -> bool:
    """Whether this container's own config never holds one (OpenAI's hparams.json), so that its absence says nothing."""
    names = names_of(checkpoint, family)
    return names is not None and bool(names.config) and not any(key in names.config for key in keys)


def missing_epsilon(checkpoint: Checkpoint, family: str | None = None, keys: Sequence[str] = ()) -> str | None:
    """What a loader of this container would miss: no epsilon where it takes no default. None otherwise.

    Of a known family it is the family's own key that a loader asks for; without one, any key of an epsilon will do.
    """
    table = container(checkpoint.format)
    if table is None or table.defaults:
        return None
    names = None if family is None else names_of(checkpoint, family)
    if names is not None:
        if names.epsilon is not None and not keys:
            return None if names.epsilon in _declared(checkpoint) else names.epsilon
        return missing(checkpoint, names, keys)
    found = [fact.key for fact in checkpoint.declared if fact.key.endswith(table.epsilon_keys)]
    return None if found else " or ".join(f"<architecture>.{key}" for key in table.epsilon_keys)


def missing_size(checkpoint: Checkpoint, family: str, keys: Iterable[str]) -> str | None:
    """The size that this container's loaders insist on and do not find; None where none is lacking."""
    table = container(checkpoint.format)
    names = None if table is None or table.defaults else names_of(checkpoint, family)
    return None if names is None else next(filter(None, (missing(checkpoint, names, [key]) for key in keys)), None)


def missing(checkpoint: Checkpoint, names: Names, keys: Sequence[str]) -> str | None:
    """The container's spellings of `keys` when it states none of them; None when it does, or has no such key."""
    wanted, stated = [names.config[key] for key in keys if key in names.config], _declared(checkpoint)
    return None if not wanted or any(key in stated for key in wanted) else " or ".join(wanted)


def _declared(checkpoint: Checkpoint) -> Mapping[str, Any]:
    return {fact.key: fact.value for fact in checkpoint.declared}
