"""The norm was applied to its own output: the logit lens on a last hidden state that was normed already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms, prepared, reference
from ln_audit.numerics import tolerance
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.reference import NORMS, affine, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.numerics.parameters import Variant

NAME = "normed-twice"
FREEDOM = 0


def applies(_: Suspect) -> bool:
    """Any norm can be repeated."""
    return True


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """One for each form of gain and bias."""
    for form in forms(suspect):
        yield Fault("normed twice", "apply the norm once: its output went through it again", _twice(suspect, form))


def _twice(suspect: Suspect, form: Variant) -> Callable[[Batch], Prediction]:
    setting = suspect.setting

    def predict(batch: Batch) -> Prediction:
        once = reference(batch, suspect)
        with np.errstate(all="ignore"):
            y = affine(once.z, form.gain, form.bias)
            e_c = tolerance.compute_bound(y, once.e_z, form.gain, form.bias, setting.compute.u)
            early = len(suspect.chains) - 1  # a chain that rounds before the gain is among those of a narrow output
            h = tolerance.stored_bound(
                e_c, y, once.z, form.gain, compute=setting.compute, output=setting.output, early=early
            )
            again = NORMS[setting.kind](y, None, None, setting.eps)
            bound = prepared(y, again, suspect)
            shift = mean(h) if again.centred else 0.0
            moved = again.r * (h + shift + np.abs(again.delta) * again.r**2 * mean(np.abs(again.delta) * h))
        rows = Prepared(z=again.z, e_z=bound.e_z + moved, r=again.r, judged=once.judged & bound.judged)
        return Prediction(rows, (form,))

    return predict
