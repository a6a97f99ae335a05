"""What a whole comparison comes to: blocks are judged one by one and added up here, so that memory stays flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array, Mask
    from ln_audit.numerics.judge import Judgement


class Element(NamedTuple):
    """One recorded element: its row and channel, the reference ± tolerance, and the ends of its cell."""

    row: int
    channel: int
    recorded: float
    expected: float
    tolerance: float
    low: float
    high: float
    ratio: float


@dataclass(slots=True)
class Tally:
    """The running sums of one hypothesis. `over`: elements with an error ratio above 1."""

    judged: int = 0
    over: int = 0
    outside: int = 0
    inexact: int = 0
    wrong: int = 0
    max_abs_error: float | None = None
    worst: Element | None = None
    first_outside: Element | None = None
    first_inexact: Element | None = None
    first_wrong: Element | None = None

    @property
    def max_ratio(self) -> float:
        """The largest error ratio; 0 while there is none."""
        return self.worst.ratio if self.worst is not None else 0.0

    @property
    def clean(self) -> bool:
        """Something was judged, and all of it agrees."""
        return self.judged > 0 and self.within

    @property
    def within(self) -> bool:
        """Nothing was found wrong (which a tally that judged nothing satisfies too)."""
        return not self.over and not self.outside and not self.wrong

    @property
    def worst_rows(self) -> set[int]:
        """The row of the largest error ratio, and the first with an element outside its cell."""
        return {each.row for each in (self.worst, self.first_outside) if each is not None}

    def add(self, block: Judgement, first_row: int) -> None:
        """Take one block in; `first_row` is its first row's number in the recording."""
        self.judged += int(block.judged.sum())
        self.over += int((block.ratio > 1).sum())
        self.outside += int(block.outside.sum())
        self.inexact += int(block.inexact.sum())
        self.wrong += int(block.wrong.sum())
        self.first_outside = self.first_outside or _first(block, block.outside, first_row)
        self.first_inexact = self.first_inexact or _first(block, block.inexact, first_row)
        self.first_wrong = self.first_wrong or _first(block, block.wrong, first_row)
        measured = ~np.isnan(block.ratio)
        if measured.any():
            self._add_errors(block, measured, first_row)

    def _add_errors(self, block: Judgement, measured: Mask, first_row: int) -> None:
        at = int(np.where(measured, block.ratio, -1.0).argmax())
        if self.worst is None or block.ratio.flat[at] > self.worst.ratio:
            self.worst = _element(block, at, first_row)
        finite = measured & np.isfinite(block.recorded)
        if finite.any():
            largest = float(np.abs(block.recorded[finite] - block.y[finite]).max())
            self.max_abs_error = max(largest, self.max_abs_error or 0.0)


@dataclass(slots=True)
class NonfiniteCount:
    """NaN and infinities in one of the two arrays, and the flat number of the first."""

    nan: int = 0
    inf: int = 0
    first: int | None = None

    def add(self, values: Array, first_row: int) -> None:
        """Count those of a block [n, d]."""
        finite = np.isfinite(values)
        if finite.all():
            return
        nan = int(np.isnan(values).sum())
        self.nan += nan
        self.inf += int((~finite).sum()) - nan
        if self.first is None:
            self.first = first_row * values.shape[1] + int((~finite).argmax())


def _first(block: Judgement, marked: Mask, first_row: int) -> Element | None:
    return _element(block, int(marked.argmax()), first_row) if marked.any() else None


def _element(block: Judgement, at: int, first_row: int) -> Element:
    row, channel = divmod(at, block.y.shape[1])
    arrays = (block.recorded, block.y, block.e, block.low, block.high, block.ratio)
    recorded, expected, tolerance, low, high, ratio = (float(array[row, channel]) for array in arrays)
    return Element(first_row + row, channel, recorded, expected, tolerance, low, high, ratio)
