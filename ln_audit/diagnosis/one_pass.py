"""The variance was taken in one pass, E[x²] − μ², and cancelled where the mean is large against the deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis import fit
from ln_audit.diagnosis.hypothesis import Fault, Prediction, forms, normed_by, prepared
from ln_audit.numerics import tolerance
from ln_audit.numerics.floats import float64
from ln_audit.numerics.reference import layer_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array, Format
    from ln_audit.numerics.parameters import Variant

NAME = "one-pass"
FREEDOM = 2


def applies(suspect: Suspect) -> bool:
    """Only where a mean is taken off."""
    return suspect.centred


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """One for each form of gain and bias."""
    advice = "take the mean off first and square then (two passes, or Welford's): one pass cancels at large means"
    for form in forms(suspect):
        for chain in suspect.chains:
            yield Fault("variance in one pass", advice, _predict(suspect, form, chain))


def _predict(suspect: Suspect, form: Variant, chain: Chain | None) -> Callable[[Batch], Prediction]:
    """What cancels is the last bits of E[x²], whatever the order of the sum left of them: no one value is right.

    So with an output at hand each row takes the variance that fits it, within what rounding can have done; all its
    elements must then agree on that one number.
    """
    eps, compute = suspect.parameters.eps, suspect.setting.compute

    def predict(batch: Batch) -> Prediction:
        x = batch.before
        plain = layer_norm(x, None, None, eps)
        if batch.after is None:
            var = _simulated(x, compute)
        else:
            with np.errstate(all="ignore"):
                square = np.mean(x * x, axis=1, keepdims=True)
                reach = (tolerance.probable_growth(x.shape[1]) + 4) * compute.u * (square + 2 * plain.mu**2)
                fitted = 1.0 / fit.reciprocal(plain.delta, batch.after, form, chain, suspect.setting).middle ** 2 - eps
            fitted = np.where(np.isfinite(fitted), fitted, plain.var)
            var = np.clip(fitted, plain.var - reach, plain.var + reach)
        normed = normed_by(x, "layer_norm", lambda _: 1.0 / np.sqrt(var + eps))
        return Prediction(prepared(x, normed, suspect), (form,))

    return predict


def _simulated(x: Array, compute: Format) -> Array:
    """E[x²] − μ² [n, 1] as numpy sums it in the compute format."""
    row = x.astype(compute.name)
    with np.errstate(all="ignore"):
        mean = row.mean(axis=1, keepdims=True)
        var = (row * row).mean(axis=1, keepdims=True) - mean * mean
    return float64(var)
