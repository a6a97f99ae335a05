"""The same values in another order of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "permuted"


def explain(difference: Difference) -> Explanation | None:
    """The source's values, all of them, in another order."""
    ours = difference.artifact.stored.astype(np.float64)
    if not difference.whole or ours.size < 2:
        return None
    held = [form.astype(np.float64) for form in difference.forms]
    theirs = next((each for each in held if np.array_equal(np.sort(ours), np.sort(each))), None)
    if theirs is None:
        return None
    moved = int((ours != theirs).sum())
    how = (
        "reversed"
        if np.array_equal(ours, theirs[::-1])
        else _rolled(ours, theirs) or f"{moved:,} of {ours.size:,} channels moved"
    )
    return Explanation(NAME, "fail", f"the source's values in another order: {how}", "a layout was applied to a norm")


def _rolled(ours: np.ndarray, theirs: np.ndarray) -> str | None:
    for by in range(1, min(ours.size, 4_096)):
        if ours[0] == theirs[-by] and np.array_equal(ours, np.roll(theirs, by)):
            return f"rolled by {by}"
    return None
