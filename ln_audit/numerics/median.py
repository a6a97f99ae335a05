"""The median for every run, without `numpy.ma`: NumPy's own imports that, which takes longer than the medians of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def median(values: ArrayLike, axis: int = -1) -> NDArray[Any]:
    """`numpy.median` of values [..., n, ...] of a floating dtype along `axis`, in that dtype; NaN where one is NaN, or n is 0."""
    given = np.moveaxis(np.asarray(values), axis, -1)
    n = given.shape[-1]
    if n == 0:
        return np.full(given.shape[:-1], np.nan, given.dtype)
    ordered = np.partition(given, ((n - 1) // 2, n // 2, n - 1), axis=-1)  # NaN comes last
    middle = ordered[..., (n - 1) // 2 : n // 2 + 1].mean(axis=-1, dtype=given.dtype)
    last = ordered[..., -1]
    result: NDArray[Any] = np.where(np.isnan(last), last, middle)
    return result
