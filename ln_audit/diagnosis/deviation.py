"""The deviation was formed in another way: over d − 1, epsilon outside the root, epsilon scaled by max², or several.

Over d − 1 divides `torch.std` and much teaching code; the annotated transformer's LayerNorm does that and adds epsilon
outside the root. Kernels that divide by max|x| against overflow and add epsilon afterwards scale it by max².
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, dividing_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.numerics.floats import Array

NAME = "deviation"
FREEDOM = 0


def applies(_: Suspect) -> bool:
    """Every norm divides by one."""
    return True


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """All of them with the norm's own epsilon."""
    yield from deviations(suspect, suspect.parameters.eps)


def deviations(suspect: Suspect, eps: float) -> Iterator[Fault]:
    """Each alone, then the combination that is copied most."""
    d = suspect.rows.width
    over = d / (d - 1) if d > 1 else None

    def outside(var: Array, _: Array) -> Array:
        r: Array = 1.0 / (np.sqrt(var) + eps)
        return r

    def scaled(var: Array, x: Array) -> Array:
        r: Array = 1.0 / np.sqrt(var + eps * np.max(x * x, axis=1, keepdims=True))
        return r

    if over is not None:
        sample = f"divide by d = {d}, not d − 1: var(unbiased=False) in torch, ddof=0 in numpy"
        yield Fault("variance over d − 1", sample, dividing_by(suspect, lambda var, _: 1 / np.sqrt(var * over + eps)))
    inside = "add epsilon to the variance, inside the root: x / sqrt(var + eps)"
    yield Fault("epsilon outside the root", inside, dividing_by(suspect, outside))
    if over is not None:
        both = f"divide by d = {d}, not d − 1, and add epsilon inside the root: x / sqrt(var + eps)"
        predict = dividing_by(suspect, lambda var, _: 1 / (np.sqrt(var * over) + eps))
        yield Fault("variance over d − 1 and epsilon outside the root", both, predict)
    protected = "where rows are divided by max|x| against overflow, divide epsilon by max|x|² too"
    yield Fault("epsilon scaled by max²", protected, dividing_by(suspect, scaled))
