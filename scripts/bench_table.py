"""The benchmark's rows and their table: ours, the peer's, the ratio, its limit, and whether it was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Row:
    """One measured figure; `kept` is whether its limit was."""

    what: str
    ours: str
    peer: str
    ratio: str
    limit: str
    kept: bool

    @classmethod
    def slower(cls, what: str, ours: float, peer: float, *, limit: float) -> Row:
        """Seconds of ours may be at most `limit` times those of the peer."""
        ratio = ours / peer
        return cls(what, _milliseconds(ours), _milliseconds(peer), f"{ratio:.2f}×", f"≤ {limit:g}×", ratio <= limit)

    @classmethod
    def faster(cls, what: str, ours: float, peer: float, *, limit: float) -> Row:
        """Seconds of the peer must be at least `limit` times ours."""
        ratio = peer / ours
        kept = ratio >= limit
        return cls(what, _milliseconds(ours), _milliseconds(peer), f"1/{ratio:.1f}", f"≥ {limit:g}× faster", kept)

    @classmethod
    def fewer(cls, what: str, ours: int, peer: int, *, limit: int) -> Row:
        """The peer must take at least `limit` times as many bytes as ours. Zero bytes of ours were not measured."""
        kept = 0 < ours * limit <= peer
        ratio = f"1/{peer / ours:,.0f}" if ours else "none read"
        return cls(what, f"{ours:,} B", f"{peer:,} B", ratio, f"≥ {limit:,}× fewer", kept)

    @classmethod
    def at_most(cls, what: str, ours: float, unit: str, *, limit: float) -> Row:
        """A figure of its own, above zero and below `limit`."""
        return cls(what, f"{ours:.2f} {unit}", "", "", f"< {limit:g} {unit}", 0 < ours < limit)

    @classmethod
    def at_least(cls, what: str, ours: float, unit: str, *, limit: float) -> Row:
        """A figure of its own, `limit` or more."""
        return cls(what, f"{ours:.2f} {unit}", "", "", f"≥ {limit:g} {unit}", ours >= limit)

    @classmethod
    def figure(cls, what: str, ours: str, peer: str = "", ratio: str = "") -> Row:
        """What is measured without a limit."""
        return cls(what, ours, peer, ratio, "", kept=True)


def render(rows: Sequence[Row]) -> str:
    """A table in plain text."""
    heading = ("what", "ours", "peer", "ratio", "limit", "")
    cells = [heading] + [(r.what, r.ours, r.peer, r.ratio, r.limit, "ok" if r.kept else "MISSED") for r in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heading))]

    def line(row: Sequence[str]) -> str:
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        return "  ".join([row[0].ljust(widths[0]), *padded[1:]]).rstrip()

    return "\n".join(line(row) for row in cells)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"
