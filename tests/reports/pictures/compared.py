"""Comparisons with planted shares, for the tests of their pictures."""

from dataclasses import replace
from typing import Any

from ln_audit.comparison import Comparison, Worst
from ln_audit.numerics.shares import EDGES
from ln_audit.pictures import Shares
from tests.reports.made import COMPARISON


def shares(cells: Any, marked: Any = (), **changes: Any) -> Shares:
    """Shares of the elements of `cells`, one to a cell."""
    counts = [0] * (len(EDGES) + 1)
    for share in (each for row in cells for each in row if each is not None):
        counts[sum(edge < share for edge in EDGES)] += 1
    made = Shares(len(cells), len(cells[0]), 1, 1, tuple(map(tuple, cells)), tuple(marked), EDGES, tuple(counts))
    return replace(made, **changes)


def comparison(cells: Any, marked: Any = (), **changes: Any) -> Comparison:
    made = shares(cells, marked, **changes)
    largest = made.largest
    return replace(COMPARISON, max_error_ratio=largest, worst=Worst((0, 1), 3, 1.0, 1.0, 4e-7, largest), shares=made)
