"""Elements of another binary magnitude than everything around them: in one norm, or in the same norm of every layer.

All in octaves (log2 of the magnitude). An element's residual is what remains of it after its layer's median and, from
`NEIGHBOURS` layers on, its channel's median over the layers were taken away: trained channels keep their place from layer to
layer, so this narrows what is ordinary. Its score is the residual beyond the largest that its own channel has in another
layer: a channel that is restless anyway makes nobody suspicious. It stands alone when its score is far beyond the fourth
most extreme of the whole row; up to three damaged elements so do not hide each other.

That the nearest to zero of n values that come arbitrarily close to it is 2^m times nearer than the fourth has a probability of
about 3 · 2^-m: 2 % for `GAP`, 0.3 % for `GAP_ALONE`, before it must also land where its channel lies when one exponent bit
is turned back. Measured: see docs/value-rules.md. The widest gap of an element that
one turned bit makes ordinary, in any kind of norm of the real checkpoints there, is 1.8 octaves; in pieces of four layers and
more cut out of them 6.1, in pieces of one to three 7.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ln_audit.numerics.median import median

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]
    Rows = Sequence[NDArray[Any]] | NDArray[Any]

NEIGHBOURS = 4  # layers from which a channel's median is worth something with one of them damaged
GAP = 7.0  # octaves beyond the fourth most extreme, where a channel has neighbours
GAP_ALONE = 10.0  # where only the element's own tensor, or two or three layers, say what is ordinary
_FEWEST = 32  # elements in a row below which nothing is ordinary
_TAIL = 0.025  # of the residuals on either side are not ordinary
_CHANNELS = 512  # that `quiet` looks at together
_ROUNDED = 0.01  # octaves: more than float32 loses when the two medians are taken away in another order
_SLACK = 0.25  # octaves on either side of those: short rows and constant tensors have too little spread


class Lone(NamedTuple):
    """One element that stands alone: its place, what its layer and channel let expect, and the gap in octaves.

    `ordinary` are the magnitudes between which an element here raises no question.
    """

    layer: int
    channel: int
    expected: float
    ordinary: tuple[float, float]
    gap: float


def lone(rows: Rows, *, small: bool) -> list[Lone]:
    """The elements of these layers [d], of any dtype, that stand alone; at most three to either side.

    With `small`, also those that are far too near to zero: only where stored values do not scatter around zero anyway.
    """
    layers = len(rows)
    magnitude = np.stack([_octaves(layer) for layer in rows])
    with np.errstate(invalid="ignore"):
        expected = np.broadcast_to(median(magnitude)[:, None], magnitude.shape)
        if layers >= NEIGHBOURS:
            expected = expected + median(magnitude - expected, axis=0)  # [l, d] + [d]
        residual = magnitude - expected
    known = np.isfinite(residual)
    if known.sum() < _FEWEST:
        return []
    residual[~known] = 0.0
    needed = GAP if layers >= NEIGHBOURS else GAP_ALONE
    if np.abs(residual).max() <= needed:  # as in most rows of most models
        return []
    low, high = _ordinary(residual[known])
    score = _beyond_its_channel(residual) if layers >= NEIGHBOURS else residual
    found = []
    for sign in (1, -1) if small else (1,):
        places, gaps = _gaps(sign * score, needed)
        for place, gap in zip(places, gaps, strict=True):
            layer, channel = divmod(int(place), magnitude.shape[1])
            if gap > needed and not low <= residual[layer, channel] <= high:
                middle = float(expected[layer, channel])
                around = (_power(middle + low), _power(middle + high))
                found.append(Lone(layer, channel, _power(middle), around, float(gap)))
    return found


def quiet(rows: Rows) -> bool:
    """Whether `lone` finds nothing in these layers [d] of any dtype, told with the memory of a few channels at a time."""
    needed = (GAP if len(rows) >= NEIGHBOURS else GAP_ALONE) - _ROUNDED
    middles = np.array([[median(_octaves(layer))] for layer in rows], np.float32)
    for begin in range(0, len(rows[0]), _CHANNELS):
        with np.errstate(invalid="ignore"):
            residual = np.stack([_octaves(layer[begin : begin + _CHANNELS]) for layer in rows]) - middles
            if len(rows) >= NEIGHBOURS:
                residual -= median(residual, axis=0)
        residual[~np.isfinite(residual)] = 0.0
        if np.abs(residual).max() > needed:
            return False
    return True


def _octaves(values: NDArray[Any]) -> Array:
    """log2 of the magnitudes, to 10^-4 octaves, and twice as fast to order; −inf for what is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a signalling NaN says so when it is cast
        wide = values.astype(np.float64)
        magnitude: Array = np.log2(np.abs(wide)).astype(np.float32)
    magnitude[~np.isfinite(wide)] = -np.inf
    return magnitude


def _power(octaves: float) -> float:
    """The magnitude again, infinity beyond what a float64 holds."""
    with np.errstate(over="ignore"):
        return float(np.exp2(octaves))


def _ordinary(residuals: Array) -> tuple[float, float]:
    """Between which residuals an element is ordinary: the middle 95 %, and never one of the three at either end."""
    count = len(residuals)
    cut = max(3, int(_TAIL * count))
    ordered = np.partition(residuals, (cut, count - 1 - cut))
    return float(ordered[cut]) - _SLACK, float(ordered[count - 1 - cut]) + _SLACK


def _beyond_its_channel(residual: Array) -> Array:
    """Each residual less the largest one, either way, of its channel in another layer; 0 where that is no less."""
    size = np.abs(residual)
    channels, place = np.arange(size.shape[1]), size.argmax(axis=0)
    others = size.copy()
    others[place, channels] = 0.0
    largest = np.broadcast_to(size[place, channels], size.shape).copy()
    largest[place, channels] = others.max(axis=0)
    return np.asarray(np.sign(residual) * np.maximum(size - largest, 0.0))


def _gaps(score: Array, needed: float) -> tuple[NDArray[np.intp], Array]:
    """Of the three highest scores those above `needed`, the highest first: where they are, how far beyond the fourth."""
    flat = score.reshape(-1)
    high = np.flatnonzero(flat > needed)
    if not high.size:
        return high, flat[:0]
    top = high if high.size > 3 else np.argpartition(flat, len(flat) - 4)[-4:]
    top = top[np.argsort(flat[top])[::-1]][:4]
    return top[:3], flat[top[:3]] - flat[top[3]]
