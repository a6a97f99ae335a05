"""What an honest run may store: for every element the reference and the interval around it (docs/numerics.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import Computed
from ln_audit.numerics.reference import affine

if TYPE_CHECKING:
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array, Mask
    from ln_audit.numerics.judge import Prepared, Setting
    from ln_audit.numerics.parameters import Variant


class Bounds(NamedTuple):
    """y [n, d] within e, stored as a number from low to high: the cell, or y ± e where the output is not narrower."""

    y: Array
    e: Array
    low: Array
    high: Array
    judged: Mask


def bounds(rows: Prepared, form: Variant, chain: Chain | None, setting: Setting) -> Bounds:
    """The rows [n, d] under one form of gain and bias and one way to round; the reference's or a fault's."""
    gain, bias, compute, output = form.gain, form.bias, setting.compute, setting.output
    with np.errstate(all="ignore"):  # rows that are not judged may hold anything
        y = affine(rows.z, gain, bias)
        e_c = tolerance.compute_bound(y, rows.e_z, gain, bias, compute.u)
        early = 0 if chain is None else chain.early
        e = tolerance.stored_bound(e_c, y, rows.z, gain, compute=compute, output=output, early=early)
        if chain is None:
            low, high = y - e, y + e
        else:
            low, high = chain.cell(Computed(rows.z, rows.e_z, y, e_c, gain, bias, compute.u), output)
    return Bounds(y, e, low, high, rows.judged & np.isfinite(y) & np.isfinite(e))
