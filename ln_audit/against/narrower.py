"""Rounding that no dtype of the two implies: cut off instead of rounded, or through a narrower dtype on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.against.equality import detour
from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "rounding"


def explain(difference: Difference) -> Explanation | None:
    """A truncated bfloat16 is a fault of the writer; a narrower dtype on the way is a loss that a person should know of."""
    found = detour(difference.artifact, difference.source) if difference.whole else None
    if found is None:
        return None
    if found.truncated:
        return Explanation("truncated", "fail", found.text, "round to nearest, ties to even, as every framework does")
    return Explanation(NAME, "warn", found.text, "convert from the source's own dtype to lose nothing")
