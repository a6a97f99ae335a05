"""Gain and bias, or the input, were rounded on their way into the norm: run or recorded at another precision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms, prepared, with_parameters
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, float64
from ln_audit.numerics.parameters import effective
from ln_audit.numerics.reference import NORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.numerics.floats import Format

NAME = "precision"
FREEDOM = 0


def applies(_: Suspect) -> bool:
    """Everything can be rounded; what is exact already gives no fault."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """Parameters, then the input, in bfloat16 and float16. Parameters rounded to the output's own dtype are honest."""
    for narrow in (BFLOAT16, FLOAT16):
        if narrow is not suspect.setting.output:
            yield from _parameters(suspect, narrow)
        if not narrow.holds(batch.before).all():
            name = f"input rounded to {narrow.name} before the norm read it"
            advice = f"run the norm on the state as recorded, or record it as the norm read it, in {narrow.name}"
            yield Fault(name, advice, _rounded_input(suspect, narrow))


def _parameters(suspect: Suspect, narrow: Format) -> Iterator[Fault]:
    norm = suspect.parameters
    gain = None if norm.gain is None else float64(norm.gain)
    bias = None if norm.bias is None else float64(norm.bias)
    held = [values for values in (gain, bias) if values is not None]
    what = "gain and bias" if len(held) == 2 else "gain" if gain is not None else "bias"
    if all(narrow.holds(values).all() for values in held):
        return
    rounded = replace(
        norm,
        gain=None if gain is None else narrow.round(gain),
        bias=None if bias is None else narrow.round(bias),
    )
    advice = f"keep {what} as stored: the run cast them to {narrow.name} and gave {suspect.setting.output.name}"
    yield Fault(f"{what} rounded to {narrow.name}", advice, with_parameters(suspect, rounded))
    if gain is not None and norm.gain is not None and norm.weight_offset != 0:
        whole = narrow.round(float64(effective(norm.gain, norm.weight_offset)))
        after = with_parameters(suspect, replace(rounded, gain=whole, weight_offset=0.0))
        yield Fault(f"{what} rounded to {narrow.name}, after {norm.weight_offset:g} was added", advice, after)


def _rounded_input(suspect: Suspect, narrow: Format) -> Callable[[Batch], Prediction]:
    norm, used = suspect.parameters, forms(suspect)

    def predict(batch: Batch) -> Prediction:
        x = narrow.round(batch.before)
        return Prediction(prepared(x, NORMS[norm.kind](x, None, None, norm.eps), suspect), used)

    return predict
