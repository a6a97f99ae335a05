"""The output was multiplied by a constant: a folded scale, a residual multiplier, √d."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis import fit
from ln_audit.diagnosis.hypothesis import Fault, Prediction, forms, reference, with_parameters
from ln_audit.diagnosis.trial import least_off
from ln_audit.numerics import tolerance
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.reference import affine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.parameters import Variant

NAME = "scaled"
FREEDOM = 2


def applies(_: Suspect) -> bool:
    """Any output can be."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """The factor with as few digits as still fit, for each form of gain and bias; none where most rows fit without."""
    if batch.after is None or not _needed(suspect, batch):
        return
    prepared = reference(batch, suspect)
    for form in forms(suspect):
        with np.errstate(all="ignore"):
            y = affine(prepared.z, form.gain, form.bias)
            kept = prepared.judged & np.isfinite(y) & np.isfinite(batch.after)
            square = float(np.sum(y[kept] ** 2))
            best = float(np.sum(y[kept] * batch.after[kept])) / square if square > 0 else np.nan
        for factor in fit.rounder(best):
            if factor not in (0.0, 1.0):
                name = f"output scaled by {factor:.9g}"
                advice = f"take the factor {factor:.9g} off the recorded output, or record before it is applied"
                yield Fault(name, advice, _times(suspect, form, factor), {"factor": factor}, kin=NAME)


def _needed(suspect: Suspect, batch: Batch) -> bool:
    """Whether most rows are off without a factor: one wrong element or row is no reason to multiply the others by 1.00001.

    Rows of nothing but 0 are the same with any factor, and say nothing.
    """
    unchanged = Fault("the reference", "", with_parameters(suspect, suspect.parameters))
    off, _ = least_off(unchanged, suspect, batch)
    judged = reference(batch, suspect).judged & (unchanged.predict(batch).values != 0)
    told = np.flatnonzero(judged.any(axis=1))
    return int(off[told].any(axis=1).sum()) > len(told) / 2


def _times(suspect: Suspect, form: Variant, factor: float) -> Callable[[Batch], Prediction]:
    """The finished output as the row, the factor as its gain; stored narrow before it, it was rounded there too."""
    setting = suspect.setting

    def predict(batch: Batch) -> Prediction:
        rows = reference(batch, suspect)
        with np.errstate(all="ignore"):
            y = affine(rows.z, form.gain, form.bias)
            e_c = tolerance.compute_bound(y, rows.e_z, form.gain, form.bias, setting.compute.u)
            early = len(suspect.chains) - 1  # a chain that rounds before the gain is among those of a narrow output
            e = tolerance.stored_bound(
                e_c, y, rows.z, form.gain, compute=setting.compute, output=setting.output, early=early
            )
        scaled = Prepared(z=y, e_z=e + setting.compute.u * np.abs(y), r=rows.r, judged=rows.judged)
        return Prediction(scaled, (replace(form, gain=np.full(y.shape[1], factor), bias=None),))

    return predict
