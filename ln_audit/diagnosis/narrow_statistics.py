"""Mean and 1/σ as a run gets them that forms them in bfloat16 or float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.numerics.floats import float64
from ln_audit.numerics.reference import mean
from ln_audit.numerics.summation import lane_sum

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array, Format

GRIDS = ("variance", "variance + epsilon", "deviation", "reciprocal")
LANES = (64, 8, 1)  # the orders between them lie between them


def statistics(
    x: Array, centre: Array | None, eps: float, narrow: Format, *, summed: bool
) -> list[tuple[Array, Array]]:
    """μ and 1/σ [n, 1] of rows x [n, d], for each order of the sums, the strictest last; sums gathered wide have one.

    `centre` is the μ of a run that takes it otherwise, None where it is narrow too. Rows, deviations and squares may have
    been rounded as well, or the statistics alone: both are given.
    """
    return [
        _simulated(x, centre, eps, narrow, lanes, steps=steps)
        for lanes in (LANES if summed else (None,))
        for steps in (True, False)
    ]


def on_grid(r: Array, eps: float, narrow: Format, grid: str) -> Array:
    """1/σ such that the variance (with epsilon or without), the deviation or its reciprocal is a number of `narrow`."""
    with np.errstate(all="ignore"):
        rounded: Array
        match grid:
            case "variance":
                rounded = 1.0 / np.sqrt(narrow.round(1.0 / r**2 - eps) + eps)
            case "variance + epsilon":
                rounded = 1.0 / np.sqrt(narrow.round(1.0 / r**2))
            case "deviation":
                rounded = 1.0 / narrow.round(1.0 / r)
            case _:
                rounded = narrow.round(r)
    return rounded


def near(fitted: Array, error: Array, simulated: list[Array], narrow: Format) -> Array:
    """The number of `narrow` next to the fitted mean; where that is fitted too roughly to say, the simulated one."""
    with np.errstate(all="ignore"):
        rounded = narrow.round(fitted)
        told = np.isfinite(fitted) & (error < narrow.spacing(rounded) / 4)
        distance = np.abs(np.stack(simulated) - fitted)  # [orders, n, 1]
        distance = np.where(np.isnan(distance), np.inf, distance)
        closest = np.take_along_axis(np.stack(simulated), np.argmin(distance, axis=0)[None], axis=0)[0]
        chosen: Array = np.where(told, rounded, closest)
    return chosen


def _simulated(
    x: Array, centre: Array | None, eps: float, narrow: Format, lanes: int | None, *, steps: bool
) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):  # an overflow is part of the simulation
        rows = narrow.round(x) if steps else x
        mu = _mean(rows, narrow, lanes) if centre is None else centre
        square = narrow.round(narrow.round(rows - mu) ** 2) if steps else (rows - mu) ** 2
        r: Array = 1.0 / np.sqrt(_mean(square, narrow, lanes) + eps)
    return mu, r


def _mean(x: Array, narrow: Format, lanes: int | None) -> Array:
    """Of each row [n, 1], in the narrow format."""
    if lanes is None:
        return narrow.round(mean(x))
    dtype = np.dtype("float16")
    if narrow.name == "bfloat16":
        import ml_dtypes

        dtype = np.dtype(ml_dtypes.bfloat16)
    return narrow.round(float64(lane_sum(x.astype(dtype), lanes)) / x.shape[1])
