"""What the values of a family table may be: a stranger's table must neither crash an audit nor keep it busy for minutes.

The families that ship stay far below every bound; each is named where a table goes beyond it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.families.schema import Family, Promise, Size

LARGEST = 1_000_000  # of a size; no width or depth comes near
LONGEST = 1_000  # items of a list
_MOST_FACTORS = 8  # of a shape
_MOST_PREFIXES = 32
_MOST_BEGINNINGS = 1_024  # of all parts' names: each of a part's prefixes behind each of the family's
_LAST_AXIS = 15
_LARGEST_OFFSET = 16  # that a model adds to a gain; all that are known add 1
_LONGEST_NAME = 500
_INDEX = re.compile(r"\{([a-z]+)\}")
_TOUCHING = re.compile(r"\}[0-9]*\{")  # nothing tells where one number ends: every way to part them would be tried


class TableError(Exception):
    """A table that is TOML but no family; the message has no file name yet. `at` is the key that it is about."""

    def __init__(self, message: str, at: str | None = None) -> None:
        super().__init__(message)
        self.at = message.partition(": ")[0] if at is None else at


def family(made: Family) -> None:
    """The names that stand in the table itself. Raises `TableError`."""
    prefixes(made.prefixes, "prefixes")
    beginnings = sum(len(part.prefixes) for part in made.parts) * len(made.prefixes)
    if beginnings > _MOST_BEGINNINGS:
        raise TableError(f"part: expected at most {_MOST_BEGINNINGS:,} pairs of prefixes, found {beginnings:,}")
    for name in made.recognised_by:
        _without_indexes(name, "recognised_by")
    for name in made.buffers:
        pattern(name, "buffers")
    for name in (name for group in made.tied for name in group):
        pattern(name, "tied")


def promise(made: Promise, where: str) -> None:
    """One row's names, shape and offset. Raises `TableError`."""
    indexes = pattern(made.name, f"{where}.name")
    if made.beside is not None:
        pattern(made.beside, f"{where}.beside")
    for key in ("leaf", "bias_leaf"):
        _without_indexes(getattr(made, key), f"{where}.{key}")
    if made.like is not None:
        strange = [index for index in pattern(made.like.tensor, f"{where}.like.tensor") if index not in indexes]
        if strange:
            raise TableError(f"{where}.like.tensor: expected the indexes of the name, found {shown(made.like.tensor)}")
        number(made.like.axis, 0, _LAST_AXIS, f"{where}.like.axis")
    _factors(made.shape, f"{where}.shape")
    number(made.weight_offset, -_LARGEST_OFFSET, _LARGEST_OFFSET, f"{where}.weight_offset")


def size(made: Size, where: str) -> None:
    """One size's numbers, and the names that tell it. Raises `TableError`."""
    number(made.default, 0, LARGEST, f"{where}.default")
    number(made.axis, 0, _LAST_AXIS, f"{where}.axis")
    _factors(made.product, f"{where}.product")
    _factors(made.over, f"{where}.over")
    if made.tensor is not None:
        _without_indexes(made.tensor, f"{where}.tensor")
    if made.count is not None and "layer" not in pattern(made.count, f"{where}.count"):
        raise TableError(f"{where}.count: expected {{layer}}, which it counts, found {shown(made.count)}")


def prefixes(found: Sequence[str], where: str) -> None:
    """What may stand before a family's names. Raises `TableError`."""
    if len(found) > _MOST_PREFIXES:
        raise TableError(f"{where}: expected at most {_MOST_PREFIXES}, found {len(found):,}")
    for name in found:
        _without_indexes(name, where)


def number(value: float | None, least: int, most: int, where: str) -> None:
    """Raises `TableError` for what is not between the two, nan among it; None is no number and may be."""
    if value is not None and not least <= value <= most:
        raise TableError(f"{where}: expected a number from {least:,} to {most:,}, found {_told(value)}")


def plain(value: object, where: str) -> None:
    """A condition's value: what a config may hold in one line. Raises `TableError`."""
    for each in value if isinstance(value, tuple) else (value,):
        if each is not None and not isinstance(each, (str, int, float)):
            raise TableError(
                f"{where}: expected a string, a number, true, false or a list of those, found {shown(each)}"
            )


def pattern(name: str, where: str) -> list[str]:
    """The indexes of a name pattern. Raises `TableError` for one that would not be a search for names in one way."""
    found = _INDEX.findall(name)
    if len(set(found)) < len(found):
        raise TableError(f"{where}: expected each index once, found {shown(name)}")
    rest = _INDEX.sub("", name)
    if "{" in rest or "}" in rest:
        raise TableError(f"{where}: expected indexes like {{layer}}, found {shown(name)}")
    if _TOUCHING.search(name):
        raise TableError(f"{where}: expected a dot or a word between two indexes, found {shown(name)}")
    if len(name) > _LONGEST_NAME:
        raise TableError(f"{where}: expected at most {_LONGEST_NAME} characters, found {len(name):,}")
    return found


def _without_indexes(name: str, where: str) -> None:
    if "{" in name or "}" in name:
        raise TableError(f"{where}: expected a name without indexes, found {shown(name)}")
    pattern(name, where)


def _factors(found: Sequence[str | int], where: str) -> None:
    if len(found) > _MOST_FACTORS:
        raise TableError(f"{where}: expected at most {_MOST_FACTORS} factors, found {len(found):,}")
    for each in found:
        if isinstance(each, int):
            number(each, 1, LARGEST, where)


def _told(value: float) -> str:
    """A number of any length, on one line."""
    return shown(value) if not isinstance(value, int) or abs(value) < 10**20 else "more digits than anyone counts"
