"""What a norm computes, told by its own numbers and by no name: its kind, its epsilon, and what is added to its gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.family_faults.recorded import Rows

_FITS = 2e-4  # of the largest output; a float32 run of a fitting norm is off by 1e-6, another kind by 1e-2 and more
_FEWEST = 4  # rows; with two numbers fitted to each channel, three leave one to contradict


class Shown(NamedTuple):
    """The kind that the rows show, with the effective gain and bias [d] that it then has."""

    kind: str
    eps: float
    gain: np.ndarray[Any, Any]
    bias: np.ndarray[Any, Any]


def shown(rows: Rows, epsilons: Sequence[float]) -> Shown | None:
    """The kind and the one of `epsilons` that fits the rows best; None where no norm over the last axis does.

    Rows whose mean is zero fit both kinds: that is None too, since they show neither.
    """
    before, after = (np.asarray(side, np.float64) for side in rows)
    if before.shape != after.shape or before.ndim < 2 or before.shape[-1] < 4 or np.array_equal(before, after):
        return None  # what gives its rows back is no norm, though rows that are normed already would fit
    x, y = (side.reshape(-1, side.shape[-1]) for side in (before, after))  # [n, d]
    if len(x) < _FEWEST or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    fits: dict[str, tuple[float, Shown]] = {}
    for kind in ("layer_norm", "rms_norm"):
        tried = [_fit(x, y, kind, eps) for eps in epsilons]
        fits[kind] = min(tried, key=lambda each: each[0])
    best = [(error, found) for error, found in fits.values() if error < _FITS]
    return best[0][1] if len(best) == 1 else None


def reference(x: np.ndarray[Any, Any], kind: str, eps: float) -> np.ndarray[Any, Any]:
    """Rows [..., d] normalized in float64, before gain and bias."""
    x = np.asarray(x, np.float64)
    if kind == "layer_norm":
        x = x - x.mean(-1, keepdims=True)
    normed: np.ndarray[Any, Any] = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return normed


def offset(shown_gain: np.ndarray[Any, Any], stored: np.ndarray[Any, Any] | None) -> float | None:
    """The whole number that the model adds to the stored gain [d]; None where it is none, or where one is applied that is not
    stored: an L2 norm is an RMSNorm times 1/√d.
    """
    if stored is None:
        return 0.0 if np.abs(shown_gain - 1).max() < 1e-2 else None
    if stored.size != shown_gain.size:
        return None
    added = shown_gain - np.asarray(stored, np.float64).reshape(-1)
    whole = float(np.round(added.mean()))
    return whole if np.abs(added - whole).max() < 1e-2 else None


def _fit(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], kind: str, eps: float) -> tuple[float, Shown]:
    """Least squares of y = gain · z + bias in every channel, and the largest error relative to the largest output."""
    z = reference(x, kind, eps)
    centre, middle = z.mean(0), y.mean(0)
    spread = ((z - centre) ** 2).sum(0)
    gain = ((z - centre) * (y - middle)).sum(0) / np.where(spread == 0, 1, spread)
    bias = middle - gain * centre
    error = float(np.abs(gain * z + bias - y).max() / max(np.abs(y).max(), 1e-30))
    return error, Shown(kind, eps, gain, bias)
