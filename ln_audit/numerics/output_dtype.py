"""The dtype in which the run stored a result, inferred from the numbers themselves (docs/numerics.md, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ln_audit.numerics.floats import FLOAT32, FLOAT64, FORMATS, Format, float64

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def narrowest(blocks: Iterable[NDArray[Any]], dtype: str) -> Format:
    """The narrowest of bfloat16, float16, float32, float64 that holds every finite value; `dtype` is the stored one."""
    left = list(FORMATS.values())
    for block in blocks:
        values = float64(block)
        left = [each for each in left if each.holds(values).all()]
        if left[0].name == dtype or left[0] is FLOAT64:  # a value holds its own dtype: nothing narrower is left
            break
    return left[0]


def compute_format(output: Format) -> Format:
    """Statistics are expected in float32, in float64 for float64 outputs, whatever else the run stored."""
    return FLOAT64 if output is FLOAT64 else FLOAT32
