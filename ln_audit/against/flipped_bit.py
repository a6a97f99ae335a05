"""One bit of one element: a download or a disk, not a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation
from ln_audit.formats.shown import number

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "one bit"


def explain(difference: Difference) -> Explanation | None:
    """What a converter would have stored but for one element, which differs in a single bit."""
    ours, theirs = difference.artifact, difference.source
    found = _flipped(difference) if difference.whole else None
    if found is None:
        return None
    channel, bit = found
    was, now = number(float(theirs.exact[channel])), number(float(ours.exact[channel]))
    told = f"one bit of [{channel}]: bit {bit}, {was} became {now}"
    return Explanation(NAME, "fail", told, "a fault of storage or transfer: fetch it again and compare its SHA-256")


def _flipped(difference: Difference) -> tuple[int, int] | None:
    """(channel, bit) where the artifact is what a converter would have stored but for one bit."""
    ours = difference.artifact.stored
    unsigned = np.dtype(f"u{ours.dtype.itemsize}")
    for form in difference.forms:
        bits = ours.view(unsigned) ^ form.view(unsigned)
        at = np.flatnonzero(bits)
        if at.size == 1 and int(bits[at[0]]).bit_count() == 1:
            return int(at[0]), int(bits[at[0]]).bit_length() - 1
    return None
