"""The norm was not applied, or its input was normed already: `hidden_states[-1]` of most models, the logit lens.

transformers returns as the last hidden state of GPT-2, Llama and most others what the final norm gave; the state that
went into it is then not in the list at all. Recorded as `before` it equals `after`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms
from ln_audit.numerics import tolerance
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.parameters import Variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.numerics.floats import Array

NAME = "no-norm"
FREEDOM = 0

_RECORD = "record what goes into the norm (a forward pre-hook on it gives that)"


def applies(_: Suspect) -> bool:
    """Any norm can be left out."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """Nothing done at all, named for what `before` is; and gain and bias applied to rows that were not normed."""
    if carries_the_norm(suspect, batch.before):
        name = "before already carries the norm: after is the same"
        advice = f"{_RECORD}: hidden_states[-1] is after the final norm, and the state before it is not in the list"
    else:
        name = "no norm was applied: after is before"
        advice = "record what the norm gives, or apply it: this state was taken before it"
    yield Fault(name, advice, lambda batch: Prediction(_as_is(batch.before), (Variant(None, None, None),)))
    if suspect.parameters.gain is not None or suspect.parameters.bias is not None:
        used = forms(suspect)
        name = "only gain and bias were applied"
        yield Fault(name, "norm the rows first", lambda batch: Prediction(_as_is(batch.before), used))


def _as_is(x: Array) -> Prepared:
    one = np.ones((len(x), 1))
    return Prepared(z=x, e_z=np.zeros_like(x), r=one, judged=one > 0)


def carries_the_norm(suspect: Suspect, x: Array) -> bool:
    """Whether z = (x − b)/g has in every row mean 0 (LayerNorm) and a mean square of at most 1, as far as o rounds.

    The mean square of z is σ²/(σ² + ε), so above 1/2 unless epsilon outweighs the row. Channels whose gain is too small
    to tell z are left out; by Cauchy and Schwarz their sum is at most √(left out · d).
    """
    form, d = forms(suspect)[0], x.shape[1]
    u = max(suspect.setting.output.u, tolerance.probable_growth(d) * suspect.setting.compute.u)
    gain = np.ones(d) if form.gain is None else form.gain
    bias = np.zeros(d) if form.bias is None else form.bias
    with np.errstate(all="ignore"):
        z = (x - bias) / gain  # [n, d]
        h = 2 * u * (np.abs(x) + np.abs(bias)) / np.abs(gain)  # how far rounding moves it
    kept = (np.isfinite(z) & (h < 0.25)).all(axis=0)  # [d]
    z, h = z[:, kept], h[:, kept]
    out = np.sqrt((d - kept.sum()) * d)
    square = np.sum(z * z, axis=1)
    slack = np.sum(2 * np.abs(z) * h + h * h, axis=1)
    centre = np.abs(np.sum(z, axis=1)) if suspect.centred else np.zeros(len(x))
    fits = (square >= d / 2 - slack) & (square <= d + slack) & (centre <= np.sum(h, axis=1) + out)
    return bool(kept.any() and fits.all())
