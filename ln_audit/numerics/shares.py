"""One more pass over a judged recording for a picture of it: by the very same judgement, in memory that does not grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.numerics.judge import judge, prepare
from ln_audit.numerics.stream import blocks
from ln_audit.pictures import Shares

if TYPE_CHECKING:
    from ln_audit.core import Rows
    from ln_audit.numerics.judge import Hypothesis, Setting

MOST_ROWS, MOST_COLUMNS = 128, 256  # cells of the map
EDGES = tuple(
    2.0 ** (half / 2) for half in range(-20, 49)
)  # half octaves from 1/1024 to 16 million; 1 is the tolerance


def shares(rows: Rows, hypothesis: Hypothesis, setting: Setting) -> Shares:
    """Every element's error ratio under the hypothesis and setting that the comparison took, binned.

    The largest is the comparison's `max_error_ratio` (a fast kernel takes the first that comes within `terms.NOISE` of it).
    """
    tall, wide = -(-rows.positions // MOST_ROWS), -(-rows.width // MOST_COLUMNS)
    starts = np.arange(0, rows.width, wide)
    cells = np.full((-(-rows.positions // tall), len(starts)), np.nan)  # [rows, columns] of the map
    marked = np.zeros(cells.shape, dtype=bool)
    counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
    for block in blocks(rows):
        judged = judge(prepare(block.before, setting), block.after, hypothesis, setting)
        row = (block.first_row + np.arange(len(judged.ratio))) // tall  # [n] -> rows of the map
        with np.errstate(invalid="ignore"):  # NaN: nothing was judged there
            np.fmax.at(cells, row, np.fmax.reduceat(judged.ratio, starts, axis=1))
        np.logical_or.at(marked, row, np.logical_or.reduceat(judged.outside | judged.wrong, starts, axis=1))
        measured = judged.ratio[~np.isnan(judged.ratio)]
        counts += np.bincount(np.searchsorted(EDGES, measured, side="left"), minlength=len(counts))
    return Shares(
        positions=rows.positions,
        width=rows.width,
        rows_per_cell=tall,
        channels_per_cell=wide,
        cells=tuple(tuple(None if np.isnan(share) else float(share) for share in row) for row in cells),
        marked=tuple((int(row), int(column)) for row, column in np.argwhere(marked)),
        edges=EDGES,
        counts=tuple(int(count) for count in counts),
    )
