"""The mean and the variance were taken over positions, or over a whole array, not over each row's channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms
from ln_audit.numerics import tolerance
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.stream import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.core import Rows
    from ln_audit.numerics.floats import Array

NAME = "axis"
FREEDOM = 0

MOST = 2**21  # numbers that are gathered: groups of positions times channels


@dataclass(frozen=True, slots=True)
class Moments:
    """Of each group of rows and each channel: mean, mean square, mean magnitude, [groups, d]; `size` rows a group."""

    size: int
    mean: Array
    square: Array
    magnitude: Array


def applies(suspect: Suspect) -> bool:
    """From two positions on."""
    return suspect.rows.positions > 1


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """Over the last axis of positions and over all of them; per channel, and channels together."""
    positions, leading = suspect.rows.positions, suspect.rows.leading
    sizes = dict.fromkeys(size for size in (positions, leading[-1] if leading else 1) if size > 1)
    advice = "take mean and variance over the last axis, one row's channels: dim=-1"
    for size in sizes:
        if positions // size * suspect.rows.width <= MOST:
            moments = _moments(suspect.rows, size)
            over = "all positions" if size == positions else f"the {size:,} positions of a sequence"
            for name, whole in ((f"normed over {over}", False), (f"normed over {over} and channels at once", True)):
                yield Fault(name, advice, _predict(suspect, moments, whole=whole))


def _moments(rows: Rows, size: int) -> Moments:
    """One walk; float64 sums, whose own rounding is far below any bound of a float32 run."""
    groups, d = rows.positions // size, rows.width
    total, square, magnitude = (np.zeros((groups, d)) for _ in range(3))
    with np.errstate(all="ignore"):
        for block in blocks(rows):
            group = (np.arange(len(block.before)) + block.first_row) // size
            for each in np.unique(group):
                x = block.before[group == each]
                total[each] += x.sum(axis=0)
                square[each] += (x * x).sum(axis=0)
                magnitude[each] += np.abs(x).sum(axis=0)
    return Moments(size, total / size, square / size, magnitude / size)


def _predict(suspect: Suspect, moments: Moments, *, whole: bool) -> Callable[[Batch], Prediction]:
    used, eps, compute = forms(suspect), suspect.parameters.eps, suspect.setting.compute
    average, square, magnitude = moments.mean, moments.square, moments.magnitude  # [groups, d]
    if whole:
        average, square, magnitude = (each.mean(axis=1, keepdims=True) for each in (average, square, magnitude))
    count = moments.size * (suspect.rows.width if whole else 1)
    centre = average if suspect.centred else np.zeros_like(average)

    def predict(batch: Batch) -> Prediction:
        group = batch.at // moments.size
        k, u = tolerance.probable_growth(count), compute.u
        with np.errstate(all="ignore"):
            r = 1.0 / np.sqrt(np.maximum(square - centre**2, 0.0)[group] + eps)  # [n, d] or [n, 1]
            z = (batch.before - centre[group]) * r
            m = k * u * magnitude[group] if suspect.centred else 0.0
            rho = k * u / 2 + 4 * u + (m * r) ** 2 / 2 + compute.eta * r**2 / 2
            e_z = np.abs(z) * (rho + u) + r * m * (1 + rho)  # the reference's own bound, with the sums over positions
        one = np.ones((len(z), 1))
        return Prediction(Prepared(z=z, e_z=e_z, r=one, judged=one > 0), used)

    return predict
