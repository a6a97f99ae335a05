"""Names of one convention in another, by patterns over `{layer}` and other indexes: one look-up for each name.

Patterns are indexed by what stands in front of their first number, so that ten thousand names of a mixture of experts cost
as many look-ups, however many patterns there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_INDEX = re.compile(r"\{[a-z]+\}")
_NUMBER = r"(0|[1-9][0-9]{0,6})"  # ten million layers are a hostile name, and `00` is no layer
_DIGITS = frozenset("0123456789")
_LONGEST = 7


class Patterns:
    """Pairs (from, to) of patterns with the same indexes in the same order; what is called with a name gives its other name."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._whole: dict[str, str] = {}
        self._indexed: dict[str, dict[str, tuple[str, ...]]] = {}  # before the index → behind it → the other's pieces
        self._deeper: dict[str, list[tuple[re.Pattern[str], tuple[str, ...]]]] = {}  # more than one index
        for theirs, ours in pairs:
            before, *behind = _INDEX.split(theirs)
            pieces = tuple(_INDEX.split(ours))
            if not behind:
                self._whole.setdefault(theirs, ours)
            elif len(behind) == 1:
                self._indexed.setdefault(before, {}).setdefault(behind[0], pieces)
            else:
                pattern = re.compile(_NUMBER.join(re.escape(piece) for piece in (before, *behind)))
                self._deeper.setdefault(before, []).append((pattern, pieces))
        self._fronts = tuple(self._indexed.items())

    def __call__(self, name: str) -> str | None:
        """The other name, None where no pattern covers this one."""
        found = self._whole.get(name)
        if found is not None:
            return found
        for before, behind in self._fronts:
            if name.startswith(before):
                found = _one_index(name, len(before), behind)
                if found is not None:
                    return found
        for before, deeper in self._deeper.items():
            if name.startswith(before):
                for pattern, pieces in deeper:
                    match = pattern.fullmatch(name)
                    if match is not None:
                        return _fill(pieces, match.groups())
        return None


def _one_index(name: str, start: int, behind: Mapping[str, tuple[str, ...]]) -> str | None:
    end, last = start, len(name)
    while end < last and name[end] in _DIGITS:
        end += 1
    length = end - start
    if not 0 < length <= _LONGEST or (length > 1 and name[start] == "0"):
        return None
    pieces = behind.get(name[end:])
    if pieces is None:
        return None
    return f"{pieces[0]}{name[start:end]}{pieces[1]}" if len(pieces) == 2 else pieces[0]


def _fill(pieces: Sequence[str], numbers: Sequence[str]) -> str:
    return "".join(piece + number for piece, number in zip(pieces, (*numbers, ""), strict=False))


@dataclass(frozen=True)
class Renaming:
    """Tensor names of one convention in another: whole names by patterns, else the module by patterns and the leaf by itself.

    `separator` stands before the leaf here, `joined` there; a leaf that `leaves` does not list keeps its name. Any of
    `roots` may stand in front of a name and is taken off; the longest first.
    """

    whole: Patterns
    modules: Patterns
    separator: str = "."
    joined: str = "."
    leaves: Mapping[str, str] = field(default_factory=dict)
    roots: tuple[str, ...] = ()

    def __call__(self, name: str) -> str | None:
        """The name in the other convention, None where no pattern covers it."""
        for root in self.roots:
            if name.startswith(root):
                bare = self._bare(name[len(root) :])
                if bare is not None:
                    return bare
        return self._bare(name)

    def _bare(self, name: str) -> str | None:
        found = self.whole(name)
        if found is not None:
            return found
        module, separator, leaf = name.rpartition(self.separator)
        if not separator:
            return None
        found = self.modules(module)
        return None if found is None else f"{found}{self.joined}{self.leaves.get(leaf, leaf)}"
