"""Binary floating-point formats, and rounding to them.

IEEE 754-2019 tables 3.1 and 3.5 for float16, float32, float64; bfloat16 is float32 with 8 significant bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

EXPONENT_BITS = np.int64(0x7FF0000000000000)  # of a float64
SMALLEST = 2.0**-1074  # the smallest float64 above zero


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: `precision` significant bits (the hidden one included), exponents `emin` to `emax`."""

    name: str
    precision: int
    emin: int
    emax: int

    @property
    def u(self) -> float:
        """Unit roundoff: the largest relative error of one rounding to nearest."""
        return 2.0**-self.precision

    @property
    def eta(self) -> float:
        """The smallest subnormal."""
        return 2.0 ** (self.emin - self.precision + 1)

    @property
    def max(self) -> float:
        """The largest finite number."""
        return (2.0 - 2.0 ** (1 - self.precision)) * 2.0**self.emax

    @property
    def overflow(self) -> float:
        """From here on rounding to nearest gives infinity (float64: its largest number, nothing lies above)."""
        return self.max if self.precision == 53 else self.max + 2.0 ** (self.emax - self.precision)

    def round(self, x: Array) -> Array:
        """The nearest number of this format, ties to even, subnormals and overflow included; float64 in and out.

        One rounding, straight from float64: a cast to bfloat16 by way of float32 rounds twice and is wrong near ties.
        Adding and subtracting C = 1.5·2⁵²·q, where q is the spacing of this format at x, makes the processor's own
        addition round x to a multiple of q (Dekker 1971).
        """
        if self.precision == 53:
            return x
        shift = self.spacing(x) * (1.5 * 2.0**52)
        nearest = np.copysign((x + shift) - shift, x)
        return np.where(np.abs(nearest) > self.max, np.copysign(np.inf, x), nearest)

    def spacing(self, x: Array) -> Array:
        """The distance q between neighbours of this format at x; beyond its range that of the next power of two."""
        binade = (np.ascontiguousarray(x).view(np.int64) & EXPONENT_BITS).view(np.float64).reshape(x.shape)
        return np.clip(binade, 2.0**self.emin, 2.0**self.emax * 2.0) * 2.0 ** (1 - self.precision)

    def holds(self, x: Array) -> Mask:
        """Where x is exact in this format. NaN and the infinities are exact in every format."""
        exact: Mask = (self.round(x) == x) | np.isnan(x)
        return exact


BFLOAT16 = Format("bfloat16", precision=8, emin=-126, emax=127)
FLOAT16 = Format("float16", precision=11, emin=-14, emax=15)
FLOAT32 = Format("float32", precision=24, emin=-126, emax=127)
FLOAT64 = Format("float64", precision=53, emin=-1022, emax=1023)
FORMATS = {each.name: each for each in (BFLOAT16, FLOAT16, FLOAT32, FLOAT64)}  # narrowest first


def float64(values: NDArray[Any]) -> Array:
    """The same numbers in float64; exact for every format above. A signalling NaN raises no warning."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)
