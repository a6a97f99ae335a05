"""Rounding cells: the stored values that an honest result may have, when it is stored narrower than it is computed.

Rounding is monotone: a result known to lie in [y − e_c, y + e_c] is stored as a number between RN_o(y − e_c) and
RN_o(y + e_c). A bias that hides inside each element's own rounding is seen so, element by element.

Where a run rounds on its way is its chain. A new chain is one function and one line in `CHAINS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics.floats import Array
from ln_audit.numerics.reference import affine

if TYPE_CHECKING:
    from collections.abc import Callable

    from ln_audit.numerics.floats import Format


class Computed(NamedTuple):
    """A block before it is stored: z within e_z, y = g·z + b within e_c; u is the compute format's unit roundoff."""

    z: Array  # [n, d]
    e_z: Array  # [n, d]
    y: Array  # [n, d]
    e_c: Array  # [n, d]
    gain: Array | None  # [d]
    bias: Array | None  # [d]
    u: float


Cell = tuple[Array, Array]


class Chain(NamedTuple):
    """`early`: how often the run rounds to o before the gain. `cell`: the lowest and highest honest value."""

    name: str
    early: int
    cell: Callable[[Computed, Format], Cell]


def once(c: Computed, o: Format) -> Cell:
    """All in the compute format, one rounding at the end: torch's layer_norm and rms_norm, Gemma, fused kernels."""
    return o.round(c.y - c.e_c), o.round(c.y + c.e_c)


def before_gain(c: Computed, o: Format) -> Cell:
    """One rounding of z, one after the gain (and bias): transformers' LlamaRMSNorm and T5LayerNorm."""
    ends = [affine(o.round(z), c.gain, c.bias) for z in (c.z - c.e_z, c.z + c.e_z)]  # [n, d] each
    low, high = np.minimum(*ends), np.maximum(*ends)  # a negative gain turns them round
    shift = 0.0 if c.bias is None else c.u * np.abs(c.bias)
    return o.round(low - (2 * c.u * np.abs(low) + shift)), o.round(high + (2 * c.u * np.abs(high) + shift))


CHAINS: dict[str, Chain] = {each.name: each for each in (Chain("once", 0, once), Chain("before_gain", 1, before_gain))}
