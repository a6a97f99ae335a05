"""Stored numbers made wider without NumPy's slow paths for them, and whether they are numbers of a narrower format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.numerics.floats import FLOAT32, FORMATS, Format, float64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Single = NDArray[np.float32]


def single(stored: NDArray[Any], out: Single) -> NDArray[Any]:
    """A block in float32, written to `out`, where its dtype is bfloat16 or float16; else the block itself.

    By moving bits: NumPy's own conversion of half precision takes one number at a time on many machines.
    """
    if stored.dtype.itemsize > 2:
        return stored
    bits = out.view(np.uint32)
    np.copyto(bits, stored.view(np.uint16))
    if stored.dtype != np.float16:
        np.left_shift(bits, np.uint32(16), out=bits)
        return out
    sign = np.left_shift(np.bitwise_and(bits, np.uint32(0x8000)), np.uint32(16))
    np.bitwise_and(bits, np.uint32(0x7FFF), out=bits)
    np.left_shift(bits, np.uint32(13), out=bits)
    np.multiply(out, np.float32(2.0**112), out=out)  # the other exponent bias; exact, subnormals too
    special = out >= 65536  # float16 ends below: infinities and NaN
    if special.any():
        bits[special] |= np.uint32(0x7F800000)
    np.bitwise_or(bits, sign, out=bits)
    return out


def contained(dtype: str, output: Format) -> bool:
    """Whether every number of a stored dtype is one of `output`."""
    stored = FORMATS[dtype]
    precise, small = stored.precision <= output.precision, stored.eta >= output.eta
    return precise and small and stored.emax <= output.emax


def all_held(stored: NDArray[Any], output: Format) -> bool:
    """Whether every finite number of a block is one of `output`: quick where it is, slow only where it may not be."""
    with np.errstate(all="ignore"):
        narrow = stored if stored.dtype == np.float32 else stored.astype(np.float32)
        suspect = narrow != stored
        if output is not FLOAT32:
            spare = np.uint32(2 ** (24 - output.precision) - 1)  # bits of a float32 that `output` has no room for
            suspect |= np.bitwise_and(narrow.view(np.uint32), spare) != 0
            size = np.abs(narrow)
            suspect |= (size < 2.0**output.emin) & (size > 0) | (size > output.max)
        return not suspect.any() or bool(output.holds(float64(stored[suspect])).all())
