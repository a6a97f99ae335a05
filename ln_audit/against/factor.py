"""One factor for all channels: a folded residual multiplier, a scale that a converter applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation
from ln_audit.formats.shown import unlike

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "factor"


def explain(difference: Difference) -> Explanation | None:
    """Every element the source's times the same number, other than 0 and 1."""
    if not difference.whole:
        return None
    ours, theirs = difference.artifact.exact, difference.source.exact
    known = np.isfinite(ours) & np.isfinite(theirs) & (theirs != 0)
    if known.sum() < 2 or not (ours[known] != 0).any():
        return None
    largest = int(np.argmax(np.where(known, np.abs(theirs), 0)))
    factor = float(ours[largest] / theirs[largest])
    if factor == 0 or not difference.fits(theirs * factor) or difference.fits(theirs):
        return None
    return Explanation(
        NAME, "fail", f"the source's times {unlike(factor, 1.0, 6)} in every channel", "a scale was folded in: undo it"
    )
