"""What pictures show beyond the report's numbers: bounded, frozen, and made only where pictures are asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Channels:
    """One tensor's stored values over its `count` channels, as an envelope of bins of `per_bin` channels each.

    `lows` and `highs`: the least and largest finite value of each bin, None where a bin has none. `outliers`: (channel,
    value) of those that stand apart, the furthest first, at most a few of the `apart` there are. `broken`: channels of NaN
    and infinities, the first few of the `nonfinite` there are.
    """

    count: int
    per_bin: int
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    outliers: tuple[tuple[int, float], ...] = ()
    apart: int = 0
    broken: tuple[int, ...] = ()
    nonfinite: int = 0


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of its tolerance each element of a recording uses: the error ratios, as a map and as a distribution.

    `cells` [positions / rows_per_cell, width / channels_per_cell]: the largest share in each cell, None where nothing was
    judged. `marked`: (row, column) of the cells with an element that is wrong whatever its share: outside its rounding
    cell, or not finite. `counts[i]`: elements with a share above `edges[i - 1]` and up to `edges[i]`.
    """

    positions: int
    width: int
    rows_per_cell: int
    channels_per_cell: int
    cells: tuple[tuple[float | None, ...], ...]
    marked: tuple[tuple[int, int], ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def largest(self) -> float:
        """The largest share of all; 0 where nothing was judged."""
        return max((share for row in self.cells for share in row if share is not None), default=0.0)

    @property
    def over(self) -> int:
        """Elements that are further off than their tolerance."""
        return sum(self.counts[self.edges.index(1.0) + 1 :])
