"""The rows that resolving power is measured on: a bounded part of a recording, whatever its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch
from ln_audit.numerics.floats import float64
from ln_audit.numerics.stream import block_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ln_audit.core import Rows
    from ln_audit.numerics.floats import Array

LOOKED_AT = 2**20  # elements from the front of a recording among which rows are chosen: 4 MB of float32 on each side
KEPT = 2**16  # elements of the chosen rows: 512 kB of float64
PACKAGED = 2**13  # of a packaged recording, whose rows were made alike, and which nobody should have to wait for
FEWEST, MOST = 4, 64  # rows
SCREEN = 2  # rows that show a gross fault already


class Sample(NamedTuple):
    """Rows of a recording in float64, before and after [n, d], themselves a `core.Rows`.

    `recorded`: the positions of the whole recording. The rows of the smallest variance come first.
    """

    before: Array
    after: Array
    recorded: int
    leading: tuple[int, ...]
    before_dtype: str
    after_dtype: str

    @property
    def width(self) -> int:
        return int(self.before.shape[1])

    @property
    def positions(self) -> int:
        return len(self.before)

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return self.positions == self.recorded

    def blocks(self, rows: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Blocks of at most `rows` rows."""
        for at in range(0, self.positions, rows):
            yield self.before[at : at + rows], self.after[at : at + rows]

    def batches(self) -> tuple[Batch, ...]:
        """A few rows and the rest, without the output: what a fault would have given must not depend on it."""
        screen = np.zeros(self.positions, dtype=np.bool_)
        screen[_evenly(self.positions, SCREEN)] = True
        return tuple(Batch(at, self.before[at]) for at in map(np.flatnonzero, (screen, ~screen)) if at.size)


def sample(rows: Rows, *, packaged: bool) -> Sample:
    """Half the rows those of the smallest variance, which see most of an epsilon, the others spread evenly.

    Chosen from all of the recording up to a million elements, from its front beyond: in the order of the files, and
    without a second walk over what may be larger than memory.
    """
    wanted = min(MOST, max(FEWEST, (PACKAGED if packaged else KEPT) // rows.width))
    before, after, variance = _front(rows, max(1, LOOKED_AT // rows.width))
    leading = rows.leading
    if len(variance) > wanted:
        chosen = _chosen(variance, wanted)
        before, after = before[chosen], after[chosen]
        leading = (len(chosen),)
    return Sample(float64(before), float64(after), rows.positions, leading, rows.before_dtype, rows.after_dtype)


def _front(rows: Rows, at_most: int) -> tuple[NDArray[Any], NDArray[Any], Array]:
    """The first rows of both sides, as they are stored, and the variance of each."""
    sides: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    variances: list[Array] = []
    have = 0
    for block in rows.blocks(min(block_rows(rows.width), at_most)):
        kept = [np.array(values[: at_most - have]) for values in block]  # what is read next may take their place
        for side, values in zip(sides, kept, strict=True):
            side.append(values)
        with np.errstate(all="ignore"):
            variances.append(float64(kept[0]).var(axis=1))
        have += len(kept[0])
        if have >= at_most:
            break
    before, after = (np.concatenate(side) for side in sides)
    return before, after, np.concatenate(variances)


def _chosen(variance: Array, wanted: int) -> NDArray[np.int64]:
    smallest = np.argsort(variance, kind="stable")[: wanted // 2]
    spread = np.zeros(len(variance), dtype=np.bool_)
    spread[_evenly(len(variance), wanted - len(smallest))] = True
    spread[smallest] = False
    return np.concatenate([smallest, np.flatnonzero(spread)])


def _evenly(positions: int, wanted: int) -> NDArray[np.int64]:
    """The first, the last, and others between; by arithmetic, as numpy's sets would load its masked arrays first."""
    return np.linspace(0, positions - 1, wanted).astype(np.int64)
