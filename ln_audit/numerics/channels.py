"""A tensor's values over its channels for a picture: an envelope of bounded length, and what stands apart by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.pictures import Channels

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array

MOST = 1024  # bins: more than a picture has points
APART = 8.0  # median distances from the median: 5.4 standard deviations of normal values, 1 of 15 million beyond them
_NAMED = 8  # channels that are listed


def channels(values: Array) -> Channels:
    """The picture of `values` of any shape, read in storage order; one bin per channel where there are no more than MOST."""
    flat = values.reshape(-1)
    finite = np.isfinite(flat)
    per_bin = max(1, -(-flat.size // MOST))
    known = np.where(finite, flat, np.nan)
    starts = np.arange(0, flat.size, per_bin)
    outliers = _outliers(flat, finite)
    broken = np.flatnonzero(~finite)
    return Channels(
        count=flat.size,
        per_bin=per_bin,
        lows=_or_none(np.fmin.reduceat(known, starts)),
        highs=_or_none(np.fmax.reduceat(known, starts)),
        outliers=tuple((int(channel), float(flat[channel])) for channel in outliers[:_NAMED]),
        apart=len(outliers),
        broken=tuple(int(channel) for channel in broken[:_NAMED]),
        nonfinite=len(broken),
    )


def _outliers(flat: Array, finite: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """Channels further from the median than APART times the median distance, the furthest first."""
    if not finite.any():
        return []
    with np.errstate(over="ignore", invalid="ignore"):  # values at the ends of float64's range
        distance = np.where(finite, np.abs(flat - np.median(flat[finite])), 0.0)
        apart = distance > APART * np.median(distance[finite])
    return [int(channel) for channel in np.argsort(-distance, kind="stable") if apart[channel]]


def _or_none(values: Array) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)
