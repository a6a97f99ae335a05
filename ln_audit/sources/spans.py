"""Which bytes to ask for: neighbouring ranges joined into one request, and what a server says it sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range
from ln_audit.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

# A request costs a round trip, a gap costs its bytes: 64 KiB at 100 Mbit/s take 5 ms, a round trip takes 20 to 100.
_JOIN_GAP = 64 * 1024
# A span already this long gains nothing from a neighbour: its own transfer outweighs the round trip saved.
_JOIN_LONGEST = 16 * 1024 * 1024
_CONTENT_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19}|\*)", re.ASCII)


class Span(NamedTuple):
    """One request: the bytes to ask for, and which of the wanted ranges lie inside."""

    range: Range
    members: tuple[int, ...]


def joined(ranges: Sequence[Range], start: int = 0) -> list[Span]:
    """The fewest cheap requests that cover the ranges from byte `start` on (what lies before is already at hand).

    Empty ranges and those that end before `start` need no request and are in no span. Spans come in file order.
    """
    wanted = [(Range(max(r.begin, start), r.end), i) for i, r in enumerate(ranges) if r.end > max(r.begin, start)]
    spans: list[Span] = []
    for piece, index in sorted(wanted):
        if spans and _worth_joining(spans[-1].range, piece):
            last = spans.pop()
            spans.append(Span(Range(last.range.begin, max(last.range.end, piece.end)), (*last.members, index)))
        else:
            spans.append(Span(piece, (index,)))
    return spans


def _worth_joining(span: Range, piece: Range) -> bool:
    if piece.begin < span.end:  # overlapping: asking twice is never cheaper
        return True
    fits = max(span.end, piece.end) - span.begin <= _JOIN_LONGEST
    return piece.begin - span.end <= _JOIN_GAP and fits


def check_bounds(label: str, ranges: Sequence[Range], size: int) -> None:
    """Refuse ranges that the file does not have. Raises `SourceError`."""
    for begin, end in ranges:
        if not 0 <= begin <= end <= size:
            raise SourceError(
                f"{label}: bytes {begin} to {end}: expected a file at least that long, found {size} bytes"
            )


def content_range(value: str | None) -> tuple[Range, int | None] | None:
    """`bytes 0-99/548105171` → (0 to 100, 548105171); total None for `*`; None when it is not of that form."""
    match = _CONTENT_RANGE.fullmatch(value.strip()) if value else None
    if match is None:
        return None
    first, last, total = match.groups()
    return Range(int(first), int(last) + 1), None if total == "*" else int(total)
