"""The digests of one parameter's effective values: as they are, and as an artifact has them that stores them narrower."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.lock.schema import FLOAT64, VALUE
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, Format, float64
from ln_audit.numerics.parameters import effective, value_sha256

if TYPE_CHECKING:
    from numpy.typing import NDArray

NARROW = (BFLOAT16, FLOAT16)


def digests(stored: NDArray[Any], offset: float, family_offset: float = 0.0) -> dict[str, str]:
    """Every digest of a parameter stored as `stored`, to which the model adds `offset`.

    `family_offset` is what the family's own files lack: an artifact that stores those narrower has rounded before adding.
    """
    whole = float64(effective(stored, offset))
    exact = value_sha256(stored, offset)
    found = (
        {VALUE: exact}
        if exact is not None
        else {FLOAT64: wide_sha256(whole), "float32_sha256": rounded(whole, FLOAT32)}
    )
    found |= {f"{each.name}_sha256": rounded(whole, each) for each in NARROW}
    if family_offset != 0:
        lacking = float64(stored) if offset == family_offset else whole - family_offset
        found |= {f"{each.name}_before_offset_sha256": rounded(lacking, each, family_offset) for each in NARROW}
    return {name: digest for name, digest in found.items() if digest is not None}


def rounded(values: NDArray[np.float64], to: Format, offset: float = 0.0) -> str | None:
    """The digest after rounding to a format, to nearest, ties to even, and adding `offset` in float32."""
    return value_sha256(to.round(values), offset)


def wide_sha256(values: NDArray[np.float64]) -> str:
    """SHA-256 over little-endian float64, for values that float32 does not hold; every NaN is the same."""
    canonical = np.where(np.isnan(values), np.nan, values)
    return hashlib.sha256(canonical.astype("<f8").tobytes()).hexdigest()
