"""The explanations, in the order in which they are tried: the first that fits every element is the one that is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.against import (
    factor,
    flipped_bit,
    folded_scale,
    initial,
    narrower,
    offset,
    permuted,
    sharded,
    swapped,
)

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference
    from ln_audit.against.explanation import Explains, Explanation

EXPLANATIONS: tuple[Explains, ...] = (
    sharded,
    narrower,
    flipped_bit,
    initial,
    swapped,
    offset,
    factor,
    permuted,
    folded_scale,
)


def explained(difference: Difference) -> Explanation | None:
    """The first explanation that fits; None where nothing does."""
    return next((found for each in EXPLANATIONS if (found := each.explain(difference)) is not None), None)
