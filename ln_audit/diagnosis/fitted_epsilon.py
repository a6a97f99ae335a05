"""The run used an epsilon that is nobody's default: the one that fits best, with as few digits as still fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis import another_epsilon, fit
from ln_audit.diagnosis.hypothesis import forms
from ln_audit.numerics.reference import NORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.reference import Normed

NAME = "best-epsilon"
FREEDOM = 2


def applies(_: Suspect) -> bool:
    """Every norm has one."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """1/r² − σ² of each row is its epsilon: the middle of what all rows allow, else their weighted mean."""
    if batch.after is None:
        return
    own = suspect.parameters.eps
    normed = NORMS[suspect.parameters.kind](batch.before, None, None, own)
    tried: set[float] = set()
    for form in forms(suspect):
        for chain in suspect.chains:
            span = fit.reciprocal(normed.delta, batch.after, form, chain, suspect.setting)
            for eps in fit.rounder(_common(span, normed)):
                if eps > 0 and eps != own and eps not in tried:
                    tried.add(eps)
                    yield another_epsilon.fault(
                        suspect, eps, f"best-fitting epsilon {eps:.7g} instead of {own:g}", NAME
                    )


def _common(span: fit.Span, normed: Normed) -> float:
    with np.errstate(all="ignore"):
        low, high, each = (_epsilon(r, normed.var) for r in (span.high, span.low, span.middle))
        lowest, highest = float(np.nanmax(low, initial=0.0)), float(np.nanmin(high, initial=np.inf))
        if lowest <= highest < np.inf:
            return (lowest + highest) / 2
        kept = np.isfinite(each) & np.isfinite(normed.r)
        weights = np.where(kept, normed.r, 0.0) ** 4  # the error of 1/r² grows with its size
        return float(np.sum(np.where(kept, each, 0.0) * weights) / np.sum(weights))


def _epsilon(r: Array, var: Array) -> Array:
    """What r allows for; a row without a positive end allows everything."""
    eps: Array = np.where(r > 0, 1.0 / r**2 - var, np.inf)
    return eps
