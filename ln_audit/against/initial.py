"""Back at its initial values: ones, zeros, or the stored zeros that a family with an offset starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "initial values"


def explain(difference: Difference) -> Explanation | None:
    """All ones (a gain), all zeros, where the source's were trained; a gain of ones may have been folded, so it is undecided."""
    ours = difference.artifact.exact
    if not difference.whole or not ours.size:
        return None
    if difference.part == "bias":
        if ours.any():
            return None
        return Explanation(
            NAME,
            "fail",
            "all zero, where the source's bias was trained",
            "a loader did not find it, or a converter dropped it",
        )
    if not ours.any():
        return Explanation(NAME, "fail", "every gain is 0", "a tensor that was never filled")
    if not np.array_equal(ours, np.ones_like(ours)):
        return None
    told = (
        "every gain is 1, where the source's were trained: folded into the next matrices (QuaRot, SpinQuant), or reset"
    )
    return Explanation(NAME, "skip", told, "give a recording of the artifact: it decides")
