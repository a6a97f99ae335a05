"""The output went through a narrower dtype than was stated of it: rounded on the way, then saved or declared wider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Fault, Prediction, forms, reference
from ln_audit.numerics import tolerance
from ln_audit.numerics.floats import BFLOAT16, FLOAT16
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.parameters import Variant
from ln_audit.numerics.reference import affine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.floats import Format

NAME = "stored-narrower"
FREEDOM = 2


def applies(_: Suspect) -> bool:
    """Any output can be rounded once more."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """Each narrower dtype that holds every recorded number: without that, nothing says that it was there."""
    if batch.after is None:
        return
    output = suspect.setting.output
    for narrow in (BFLOAT16, FLOAT16):
        if narrow.u > output.u and narrow.holds(batch.after).all():
            advice = f"say --output-dtype {narrow.name} if the run stores it so, or record it before it is rounded"
            for form in forms(suspect):
                name = f"output rounded to {narrow.name}, not {output.name}"
                yield Fault(name, advice, _predict(suspect, form, narrow))


def _predict(suspect: Suspect, form: Variant, narrow: Format) -> Callable[[Batch], Prediction]:
    """The finished output as the row, as wide as its rounding."""
    compute = suspect.setting.compute

    def predict(batch: Batch) -> Prediction:
        rows = reference(batch, suspect)
        with np.errstate(all="ignore"):
            y = affine(rows.z, form.gain, form.bias)
            e_c = tolerance.compute_bound(y, rows.e_z, form.gain, form.bias, compute.u)
            e = tolerance.stored_bound(e_c, y, rows.z, form.gain, compute=compute, output=narrow, early=1)
        return Prediction(Prepared(z=y, e_z=e, r=rows.r, judged=rows.judged), (Variant(None, None, None),))

    return predict
