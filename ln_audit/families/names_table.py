"""What the tables say of how a container, or another release's layout, spells the names of a family.

`data/names/<format>.toml` holds what a format says of itself, and the names where it has few families;
`data/names/gguf/<architecture>.toml` the names of one GGUF architecture; `data/names/layouts/<layout>.toml` the names of a
release other than the Hub's, in whatever format. See `names_index.py` for which of them is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ln_audit.families.renaming import Patterns, Renaming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """One family's names in a container.

    `config` maps config.json's keys to those that this container states, or its loaders insist on; `optional` to those that it
    may state. `less` names a key whose value is taken off another's (GGUF counts next-token blocks as layers); `quotients` names
    two keys whose quotient a config's key is. `fixed` holds what is so in every such file. `without` lists
    norms of the family that this container keeps in another form, or not at all. `epsilon` is where it writes the epsilon of a
    family that has no config key for it.
    """

    theirs: Renaming  # the family's name → the container's
    ours: Renaming  # the container's → the family's
    config: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    less: Mapping[str, str] = field(default_factory=dict)
    quotients: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    weight_offset: float | None = None  # where the container stores another convention than the Hub's files
    without: tuple[str, ...] = ()
    epsilon: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """Names that differ from the Hub's in the same way for every family: separators, leaves, and what stands in front."""

    separators: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    leaves: Mapping[str, str] = field(default_factory=dict)  # theirs → the Hub's
    ends: tuple[str, ...] = ()  # of a name, which say nothing: `:0`
    scope: str = ""  # the beginning of the word with which the model's own class ends what stands in front

    def __call__(self, name: str) -> str:
        """The name as the Hub has it."""
        for root in self.roots:
            name = name.removeprefix(root)
        for end in self.ends:
            name = name.removesuffix(end)
        if self.scope:
            words = name.split("/")
            name = "/".join(
                words[next((i + 1 for i, word in enumerate(words[:-1]) if word.startswith(self.scope)), 0) :]
            )
        for separator in self.separators:
            name = name.replace(separator, ".")
        stem, dot, leaf = name.rpartition(".")
        return f"{stem}{dot}{self.leaves.get(leaf, leaf)}"


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """What one format's table says. `defaults`: whether its loaders take a default where a key is missing."""

    format: str
    families: Mapping[str, Names]
    architecture_key: str | None = None
    defaults: bool = True
    epsilon_keys: tuple[str, ...] = ()
    plain: Plain | None = None
    offset_unknown: tuple[str, ...] | bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What one release's table says, beside its names."""

    name: str
    title: str
    families: Mapping[str, Names]
    stands_for: str | None = None  # the family that such a checkpoint is of where no config says so
    file: str = "config.json"  # that holds its config
    plain: Plain | None = None
    offset_unknown: tuple[str, ...] | bool = False  # of which families nobody can tell; True: of all


def of_format(table: Mapping[str, Any]) -> Container:
    """The table of a format."""
    return Container(
        table["format"],
        {name: names(rows) for name, rows in table.get("families", {}).items()},
        table.get("architecture_key"),
        table.get("defaults", True),
        tuple(table.get("epsilon_keys", ())),
        plain(table["plain"]) if "plain" in table else None,
        _families(table.get("offset_unknown", False)),
    )


def of_layout(name: str, table: Mapping[str, Any]) -> Layout:
    """The table of a layout; its families are those of all its [[spelling]]s."""
    families: dict[str, Names] = {}
    for rows in table.get("spelling", []):
        made = names(rows | {"config": table.get("config", {}), "roots": table.get("roots", [])})
        families |= dict.fromkeys(rows["families"], made)
    return Layout(
        name,
        table["title"],
        families,
        table.get("stands_for"),
        table.get("file", "config.json"),
        plain(table["plain"]) if "plain" in table else None,
        _families(table.get("offset_unknown", False)),
    )


def _families(told: bool | list[str]) -> tuple[str, ...] | bool:
    return told if isinstance(told, bool) else tuple(told)


def names(rows: Mapping[str, Any], front: str = "") -> Names:
    """One family's names, of a table: `names` (modules), `whole` (with their leaf), `leaves`, `config`, …

    A name on the right may be a list: the container has several spellings of it, the usual one first.
    """
    modules, whole = list(_pairs(rows.get("names", {}))), list(_pairs(rows.get("whole", {})))
    leaves: Mapping[str, str] = rows.get("leaves", {})
    theirs, ours = ("/" if leaves else "."), "."
    back = {theirs: ours for ours, theirs in leaves.items()}
    roots = tuple(sorted(rows.get("roots", ()), key=len, reverse=True))
    keys = {
        part: {key: f"{front}{theirs}" for key, theirs in rows.get(part, {}).items()}
        for part in ("config", "optional", "less")
    }
    epsilon = rows.get("epsilon")
    return Names(
        Renaming(Patterns(whole), Patterns(modules), ours, theirs, leaves),
        Renaming(Patterns((b, a) for a, b in whole), Patterns((b, a) for a, b in modules), theirs, ours, back, roots),
        keys["config"],
        keys["optional"],
        keys["less"],
        {key: (f"{front}{above}", f"{front}{below}") for key, (above, below) in rows.get("quotients", {}).items()},
        rows.get("fixed", {}),
        rows.get("weight_offset"),
        tuple(rows.get("without", ())),
        None if epsilon is None else f"{front}{epsilon}",
    )


def plain(rows: Mapping[str, Any]) -> Plain:
    """What changes in every name, of a table."""
    back = {theirs: ours for ours, spelt in rows.get("leaves", {}).items() for theirs in _each(spelt)}
    roots, ends, separators = (tuple(rows.get(key, ())) for key in ("roots", "ends", "separators"))
    return Plain(separators, roots, back, ends, rows.get("scope", ""))


def _pairs(rows: Mapping[str, str | Sequence[str]]) -> Iterator[tuple[str, str]]:
    for ours, spelt in rows.items():
        for theirs in _each(spelt):
            yield ours, theirs


def _each(spelt: str | Sequence[str]) -> Sequence[str]:
    return (spelt,) if isinstance(spelt, str) else spelt
