"""The same norm with its sums taken in L lanes of the compute format, one by one within a lane.

A correct implementation that sums in few lanes can leave the probable bound (a one-hot row of 4,096: thousands of equal
small squares added to one large one). Simulating the order tells it from a fault, which no order explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.numerics.floats import float64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ln_audit.numerics.floats import Array

LANES = (1, 2, 4, 8, 16, 32, 64)  # scalar code up to four AVX-512 registers


def lane_sum(x: NDArray[Any], lanes: int) -> NDArray[Any]:
    """Each row's sum in x's own dtype: lane l adds x[l], x[l + L], … one by one, then the lanes are added pairwise.

    `np.add.accumulate` is strictly sequential where `np.sum` is pairwise.
    """
    n, d = x.shape
    padded = np.zeros((n, -(-d // lanes), lanes), dtype=x.dtype)  # zeros change no sum
    padded.reshape(n, -1)[:, :d] = x
    sums = np.add.accumulate(padded, axis=1)[:, -1]  # [n, d/L, L] -> [n, L]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums  # [n, 1]


def simulate(x: Array, eps: float, lanes: int, *, centred: bool, dtype: str) -> Array:
    """The z [n, d] that a run in `dtype` (float32 or float64) gets that sums in `lanes` lanes."""
    with np.errstate(all="ignore"):  # a run's overflow is its own, and shows in the comparison
        row = x.astype(dtype)  # [n, d]
        d = row.dtype.type(row.shape[1])
        delta = row - lane_sum(row, lanes) / d if centred else row  # [n, d]
        var = lane_sum(delta * delta, lanes) / d  # [n, 1]
        z = delta * (row.dtype.type(1) / np.sqrt(var + row.dtype.type(eps)))  # [n, d]
        return float64(z)
