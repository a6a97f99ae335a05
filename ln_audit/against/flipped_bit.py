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
    """Stored alike but for one element, which differs in a single bit."""
    ours, theirs = difference.artifact, difference.source
    if not difference.whole or ours.dtype != theirs.dtype or ours.offset != theirs.offset:
        return None
    unsigned = np.dtype(f"u{ours.stored.dtype.itemsize}")
    bits = ours.stored.view(unsigned) ^ theirs.stored.view(unsigned)
    at = np.flatnonzero(bits)
    if at.size != 1 or int(bits[at[0]]).bit_count() != 1:
        return None
    channel = int(at[0])
    was, now = number(float(theirs.exact[channel])), number(float(ours.exact[channel]))
    told = f"one bit of [{channel}]: bit {int(bits[channel]).bit_length() - 1}, {was} became {now}"
    return Explanation(NAME, "fail", told, "a fault of storage or transfer: fetch it again and compare its SHA-256")
