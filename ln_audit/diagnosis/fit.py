"""Numbers taken from a recorded output: the 1/σ and μ of each row, and the roundest number near one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.judge import Setting
    from ln_audit.numerics.parameters import Variant


class Span(NamedTuple):
    """Of each row [n, 1]: the least and the greatest number that brings all its elements into their cells.

    Where there is none (`low` above `high`), `middle` is the one that fits best by least squares.
    """

    low: Array
    high: Array
    middle: Array


def reciprocal(delta: Array, after: Array, form: Variant, chain: Chain | None, setting: Setting) -> Span:
    """The 1/σ with which g·δ/σ + b, stored by the chain, gives the recorded rows."""
    best = least_squares(delta, after, form)
    with np.errstate(all="ignore"):
        low, high = _window(after, form, chain, setting)  # z [n, d]
        slack = 4 * setting.compute.u * np.abs(delta * best)  # the product and the reciprocal themselves
        ends = ((low - slack) / delta, (high + slack) / delta)
        told = (delta != 0) & np.isfinite(ends[0] + ends[1])
        lowest = np.max(np.where(told, np.minimum(*ends), -np.inf), axis=1, keepdims=True)
        highest = np.min(np.where(told, np.maximum(*ends), np.inf), axis=1, keepdims=True)
        middle = np.where((lowest <= highest) & np.isfinite(lowest + highest), (lowest + highest) / 2, best)
    return Span(lowest, highest, middle)


def least_squares(delta: Array, after: Array, form: Variant) -> Array:
    """The 1/σ of each row [n, 1] with which g·δ/σ + b fits best; NaN where the row says nothing."""
    direction, target = _directions(delta, after, form)
    with np.errstate(all="ignore"):
        slope: Array = np.sum(direction * target, axis=1, keepdims=True) / np.sum(direction**2, axis=1, keepdims=True)
    return slope


def mean(x: Array, after: Array, form: Variant, setting: Setting) -> tuple[Array, Array]:
    """The μ of each row [n, 1] with which g·(x − μ)/σ + b fits best, and how far off rounding may have put it."""
    direction, target = _directions(x, after, form)
    gain = np.broadcast_to(np.ones(1) if form.gain is None else form.gain, x.shape)
    with np.errstate(all="ignore"):
        xx, xg, gg = (
            np.sum(one * other, axis=1, keepdims=True)
            for one, other in ((direction, direction), (direction, gain), (gain, gain))
        )
        xt, gt = (np.sum(one * target, axis=1, keepdims=True) for one in (direction, gain))
        determinant = xx * gg - xg * xg
        slope, shift = (xt * gg - gt * xg) / determinant, (gt * xx - xt * xg) / determinant  # g·x·r − g·μ·r
        noise = max(setting.output.u, setting.compute.u) * np.sqrt(np.sum((gain * after) ** 2, axis=1, keepdims=True))
        return -shift / slope, noise / gg / np.abs(slope)


def rounder(value: float, digits: int = 7) -> Iterator[float]:
    """The value with ever more significant digits: 0.7, 0.71, 0.707, … each once."""
    if np.isfinite(value):
        yield from dict.fromkeys((*(float(f"{value:.{count}e}") for count in range(digits)), value))


def _window(after: Array, form: Variant, chain: Chain | None, setting: Setting) -> tuple[Array, Array]:
    """The least and the greatest z [n, d] that the chain stores as the recorded numbers."""
    u, output = setting.compute.u, setting.output
    bias = np.zeros(1) if form.bias is None else form.bias
    gain = np.ones(1) if form.gain is None else form.gain
    half = output.eta / 2 if chain is None else output.spacing(after) / 2
    near = half + u * np.abs(bias) + 2 * u * np.abs(after)
    ends = ((after - near - bias) / gain, (after + near - bias) / gain)
    low, high = np.minimum(*ends), np.maximum(*ends)
    if chain is None or not chain.early:
        return low, high
    first, last = output.round(low), output.round(high)  # the numbers of o in between, and what rounds to them
    first = np.where(first < low, first + output.spacing(low), first)
    last = np.where(last > high, last - output.spacing(high), last)
    return first - output.spacing(first) / 2, last + output.spacing(last) / 2


def _directions(x: Array, after: Array, form: Variant) -> tuple[Array, Array]:
    direction = x if form.gain is None else form.gain * x
    target = after if form.bias is None else after - form.bias
    return direction, target
