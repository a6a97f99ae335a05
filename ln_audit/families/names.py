"""A checkpoint's names, indexed so that a pattern over layers, heads or experts costs a look-up and not a search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_INDEX = re.compile(r"\{([a-z]+)\}")
_LONGEST = 7  # digits of an index; ten million layers are a hostile name


@dataclass(frozen=True)
class Names:
    """All tensor names of a checkpoint, as the family spells them, prefixes and all."""

    names: Sequence[str]

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """Every dotted beginning of a name: `a.`, `a.b.` of `a.b.weight`."""
        found: set[str] = set()
        for name in self.names:
            stem, dot, _ = name.rpartition(".")
            while dot and f"{stem}." not in found:
                found.add(f"{stem}.")
                stem, dot, _ = stem.rpartition(".")
        return frozenset(found)

    def holds(self, beginning: str) -> bool:
        """Whether some tensor's name is, or begins with, these dotted words."""
        return (
            beginning in self.beginnings
            if beginning.endswith(".")
            else (f"{beginning}." in self.beginnings or beginning in self._all)
        )

    def indexes(self, pattern: str) -> Iterator[Mapping[str, int]]:
        """The values that the indexes of `pattern` take among the beginnings and names: {"layer": 3, "head": 0}, …"""
        wanted = pattern.removesuffix(".")
        open_ = [match[1] if (match := _INDEX.fullmatch(word)) else word for word in wanted.split(".")]
        named = [bool(_INDEX.fullmatch(word)) for word in wanted.split(".")]
        numbers = [at for at, word in enumerate(wanted.split(".")) if named[at] or _is_index(word)]
        for found in self._numbered.get(_normal(wanted), ()):
            pairs = [(open_[at], named[at], value) for at, value in zip(numbers, found, strict=True)]
            if all(is_named or value == int(word) for word, is_named, value in pairs):
                yield {word: value for word, is_named, value in pairs if is_named}

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _numbered(self) -> Mapping[str, list[tuple[int, ...]]]:
        """Names and beginnings with `#` for every number → the numbers, in order of appearance."""
        found: dict[str, dict[tuple[int, ...], None]] = {}
        for name in (*self.names, *(beginning[:-1] for beginning in sorted(self.beginnings))):
            numbers = tuple(int(word) for word in name.split(".") if _is_index(word))
            if numbers:
                found.setdefault(_normal(name), {}).setdefault(numbers)
        return {pattern: sorted(numbers) for pattern, numbers in found.items()}


def _is_index(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _LONGEST


def _normal(name: str) -> str:
    return ".".join("#" if _is_index(word) or _INDEX.fullmatch(word) else word for word in name.split("."))


def fill(pattern: str, indexes: Mapping[str, int]) -> str:
    """A pattern with the values of its indexes; those that are not given stay as they are."""
    for index, value in indexes.items():
        pattern = pattern.replace(f"{{{index}}}", str(value))
    return pattern
