"""One exponent bit of a stored float turned over: what a value may have been before memory or a disk flipped it."""

from __future__ import annotations

import struct
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ln_audit.core import Stored


class _Layout(NamedTuple):
    """Bytes of one value, and its bits of mantissa and exponent."""

    size: int
    mantissa: int
    exponent: int


_LAYOUTS = {"F16": _Layout(2, 10, 5), "BF16": _Layout(2, 7, 8), "F32": _Layout(4, 23, 8), "F64": _Layout(8, 52, 11)}


class Restored(NamedTuple):
    """A value with its exponent bit number `bit` (0 is the lowest: a factor of 2) turned over."""

    bit: int
    value: float


def restored(stored: Stored, element: int) -> tuple[Restored, ...]:
    """What the element is with one exponent bit turned over, for each bit that leaves a finite number other than 0.

    Empty for dtypes that are no floats of 16 bits or more, and for values that are not the stored ones.
    """
    layout = _LAYOUTS.get(stored.dtype)
    if layout is None or not stored.exact:
        return ()
    raw = int.from_bytes(stored.data[element * layout.size : (element + 1) * layout.size], "little")
    turned = ((bit, _number(stored.dtype, raw ^ (1 << (layout.mantissa + bit)))) for bit in range(layout.exponent))
    return tuple(Restored(bit, value) for bit, value in turned if isfinite(value) and value != 0)


def exponent_bits(dtype: str) -> int:
    """How many exponent bits a dtype has; 0 for one whose values are not judged by them."""
    return _LAYOUTS[dtype].exponent if dtype in _LAYOUTS else 0


def _number(dtype: str, raw: int) -> float:
    """The float64 that these bits are."""
    if dtype == "BF16":
        raw, dtype = raw << 16, "F32"
    size = _LAYOUTS[dtype].size
    code = {2: "<e", 4: "<f", 8: "<d"}[size]
    return float(struct.unpack(code, raw.to_bytes(size, "little"))[0])
