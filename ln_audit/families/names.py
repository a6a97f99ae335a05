"""A checkpoint's names, indexed so that a pattern over layers, heads or experts costs a look-up and not a search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

NORM = re.compile(r"norm|(^|[._])ln(f|_|\d|\.|$)", re.IGNORECASE)  # in the name of a norm's tensor or module
_INDEX = re.compile(r"\{([a-z]+)\}")
_NUMBERED = re.compile(r"(?:^|\.)[0-9{]")
_GROUP = r"(?P<\1>[0-9]{1,7})"  # ten million layers are a hostile name


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
        """The values that the indexes of `pattern` take: {"layer": 3, "head": 0}, …

        A pattern that ends with a dot is one of beginnings, any other one of whole names.
        """
        wanted = pattern.removesuffix(".")
        regex = re.compile(_INDEX.sub(_GROUP, re.escape(wanted).replace(r"\{", "{").replace(r"\}", "}")))
        seen: dict[tuple[int, ...], dict[str, int]] = {}
        for name in (self._names if wanted == pattern else self._beginnings).get(_tail(wanted), ()):
            match = regex.fullmatch(name)
            if match is not None:
                found = {index: int(value) for index, value in match.groupdict().items()}
                seen.setdefault(tuple(found.values()), found)
        yield from (seen[values] for values in sorted(seen))

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _names(self) -> Mapping[str, list[str]]:
        return _by_tail(self.names)

    @cached_property
    def _beginnings(self) -> Mapping[str, list[str]]:
        return _by_tail([beginning[:-1] for beginning in self.beginnings])


def _by_tail(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Names by their last two words, so that a pattern is held against few of them."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(_tail(name), []).append(name)
    return found


def _tail(name: str) -> str:
    """The last two words, `#` for a number or an index."""
    tail = name[name.rfind(".", 0, max(name.rfind("."), 0)) + 1 :]
    if not _NUMBERED.search(tail):
        return tail
    words = ("#" if word[:1] == "{" or (word.isascii() and word.isdigit()) else word for word in tail.split("."))
    return ".".join(words)


def fill(pattern: str, indexes: Mapping[str, int]) -> str:
    """A pattern with the values of its indexes; those that are not given stay as they are."""
    for index, value in indexes.items():
        pattern = pattern.replace(f"{{{index}}}", str(value))
    return pattern
