"""The squares overflowed: σ² became infinite, 1/σ zero, and the output nothing but the bias.

float16 ends at 65,504, so a deviation of 256 suffices; its sum over a row overflows far earlier. T5 and Gemma lose
their residual streams so. bfloat16 reaches as far as float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms, normed_by, prepared
from ln_audit.numerics.floats import FLOAT16, FLOAT32
from ln_audit.numerics.reference import NORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.numerics.floats import Array, Format

NAME = "overflow"
FREEDOM = 0


def applies(_: Suspect) -> bool:
    """Every norm squares its rows."""
    return True


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """One square alone, their mean, or their sum."""
    for narrow in (FLOAT16, FLOAT32):
        for what, largest in (("square", _one), ("mean square", _mean), ("sum of squares", _all)):
            name = f"{what} overflowed in {narrow.name}: the output is the bias alone"
            wider = "float32" if narrow is FLOAT16 else "float64, or scale the rows first"
            advice = f"take the statistics in {wider}: {narrow.name} ends at {narrow.max:.5g}"
            yield Fault(name, advice, _overflowing(suspect, narrow, largest))


def _one(delta: Array) -> Array:
    return np.asarray(np.max(delta * delta, axis=1, keepdims=True))


def _mean(delta: Array) -> Array:
    return np.asarray(np.mean(delta * delta, axis=1, keepdims=True))


def _all(delta: Array) -> Array:
    return np.asarray(np.sum(delta * delta, axis=1, keepdims=True))


def _overflowing(suspect: Suspect, narrow: Format, largest: Callable[[Array], Array]) -> Callable[[Batch], Prediction]:
    kind, eps, used = suspect.parameters.kind, suspect.parameters.eps, forms(suspect)

    def predict(batch: Batch) -> Prediction:
        lost = largest(NORMS[kind](batch.before, None, None, eps).delta) >= narrow.overflow  # [n, 1]
        normed = normed_by(batch.before, kind, lambda var: np.where(lost, 0.0, 1.0 / np.sqrt(var + eps)))
        return Prediction(prepared(batch.before, normed, suspect), used)

    return predict
