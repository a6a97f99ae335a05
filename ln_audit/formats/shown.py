"""Values from a file as a message may show them."""

from __future__ import annotations

import struct
from math import inf
from reprlib import Repr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Hostile names are megabytes long and hostile arrays a thousand deep: repr itself would fail on those.
_REPR = Repr()
_REPR.maxlevel, _REPR.maxlist, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 2, 8, 4, 80, 80


def shown(value: object) -> str:
    """One line, ASCII, short."""
    return _REPR.repr(value).encode("ascii", "backslashreplace").decode()


def shortest(exact: float, rounded: Callable[[float], float]) -> float:
    """The decimal with the fewest digits that `rounded` makes this number of: as float32, 1e-05 is 9.999999747378752e-06."""
    decimals = (float(f"{exact:.{digits}e}") for digits in range(17))
    return next((near for near in decimals if rounded(near) == exact), exact)


def number(value: float) -> str:
    """A number as people write it: GGUF and ONNX keep epsilon as float32, and it is shown as it was written there."""
    return repr(shortest(value, float32) if float32(value) == value else value)


def unlike(value: float, other: float, digits: int) -> str:
    """`value` in `digits` significant digits, or in as many more as keep it from being read as `other`, which it is not."""
    for more in range(digits, 17):
        told = f"{value:.{more}g}"
        if value == other or float(told) != other:
            return told
    return repr(value)


def float32(value: float) -> float:
    """The number as float32 holds it, the precision that containers keep; infinite beyond it."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return inf
    return rounded
