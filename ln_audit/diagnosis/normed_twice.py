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

    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.parameters import Variant

NAME = "normed-twice"
FREEDOM = 0


def applies(_: Suspect) -> bool:
    """Any norm can be repeated."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """One for each form of gain and bias."""
    for form in forms(suspect):
        predict = _twice(suspect, form, seen=_seen(suspect, form, batch))
        yield Fault("normed twice", "apply the norm once: its output went through it again", predict)


def _once(suspect: Suspect, form: Variant, batch: Batch) -> tuple[Prepared, Array, Array]:
    """The rows normed once, the output y [n, d], and how far off it may be as it is stored."""
    setting, once = suspect.setting, reference(batch, suspect)
    y = affine(once.z, form.gain, form.bias)
    e_c = tolerance.compute_bound(y, once.e_z, form.gain, form.bias, setting.compute.u)
    early = len(suspect.chains) - 1  # a chain that rounds before the gain is among those of a narrow output
    h = tolerance.stored_bound(e_c, y, once.z, form.gain, compute=setting.compute, output=setting.output, early=early)
    return once, y, h


def _seen(suspect: Suspect, form: Variant, batch: Batch) -> bool:
    """Whether the second norm moves any output further than one norm may be off.

    Without a gain, or with the same in every channel, it changes nothing; it must then not excuse anything either.
    """
    setting = suspect.setting
    with np.errstate(all="ignore"):
        _, y, h = _once(suspect, form, batch)
        again = affine(NORMS[setting.kind](y, None, None, setting.eps).z, form.gain, form.bias)
        return bool((np.abs(again - y) > h).any())


def _twice(suspect: Suspect, form: Variant, *, seen: bool) -> Callable[[Batch], Prediction]:
    setting = suspect.setting

    def predict(batch: Batch) -> Prediction:
        with np.errstate(all="ignore"):
            once, y, h = _once(suspect, form, batch)
            again = NORMS[setting.kind](y, None, None, setting.eps)
            bound = prepared(y, again, suspect)
            shift = mean(h) if again.centred else 0.0
            moved = again.r * (h + shift + np.abs(again.delta) * again.r**2 * mean(np.abs(again.delta) * h))
        e_z = bound.e_z + moved if seen else bound.e_z
        return Prediction(Prepared(z=again.z, e_z=e_z, r=again.r, judged=once.judged & bound.judged), (form,))

    return predict
