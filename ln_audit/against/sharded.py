"""A part of the source's parameter saved as if it were whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "a part"


def explain(difference: Difference) -> Explanation | None:
    """Fewer elements than the source's: which of its equal parts, if it is one."""
    ours, theirs = difference.artifact.stored, difference.forms[0]
    if difference.whole or not ours.size or ours.size >= theirs.size:
        size = f"{ours.size:,} elements, the source has {theirs.size:,}"
        return (
            None
            if difference.whole
            else Explanation(NAME, "fail", size, "another model, or placeholders saved as if they were whole")
        )
    if theirs.size % ours.size == 0:
        parts = theirs.reshape(-1, ours.size)
        at = next((i for i, part in enumerate(parts) if np.array_equal(part, ours)), None)
        if at is not None:
            told = f"part {at + 1} of {len(parts)} of the source's {theirs.size:,} elements"
            return Explanation(NAME, "fail", told, "a shard saved as if it were whole: gather or merge before saving")
    if np.array_equal(theirs[: ours.size], ours):
        return Explanation(NAME, "fail", f"the first {ours.size:,} of the source's {theirs.size:,} elements", "cut off")
    return Explanation(NAME, "fail", f"{ours.size:,} elements, the source has {theirs.size:,}", "another model")
