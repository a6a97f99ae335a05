"""Some channels, or all, had another gain or bias than the checkpoint stores: recovered from the output, and named.

y = g·z + b is linear in g and b, so from two different rows on each channel's numbers follow by least squares; the tolerances
of the elements bound how far off the recovered numbers can be. A channel is named only where no other number than a
different one fits, and the fewest numbers that fit are taken: the gain alone, the bias alone, then both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.channel_fit import Fitted, recover, widened
from ln_audit.diagnosis.hypothesis import Fault, Prediction, forms, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.parameters import Variant

NAME = "other-parameters"
FREEDOM = 3

NAMED = 6  # channels whose numbers go into the report


def applies(suspect: Suspect) -> bool:
    """From two positions on."""
    return suspect.rows.positions > 1


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """One for each form and chain under which every channel fits with some gain and bias, the fewest changes first."""
    if batch.after is None:
        return
    found = [
        (form, recover(batch.before, batch.after, form, chain, suspect.setting))
        for form in forms(suspect)
        for chain in suspect.chains
    ]
    for form, fitted in sorted(found, key=lambda each: int(each[1].differs.sum())):
        if fitted.tells:
            yield Fault(_name(fitted), _advice(fitted), _predict(suspect, fitted), _numbers(fitted, form), kin=NAME)


def _name(fitted: Fitted) -> str:
    if fitted.constant:
        return "the output is the same at every position"
    width = len(fitted.pair.gain)
    told = []
    for what, differs in (("gain", fitted.gain_differs), ("bias", fitted.bias_differs)):
        count, plural = int(differs.sum()), {"gain": "gains", "bias": "biases"}[what]
        if count == width:
            told.append(f"all {width:,} {plural} differ")
        elif count:
            shown = ", ".join(str(channel) for channel in np.flatnonzero(differs)[:NAMED])
            told.append(f"{count:,} of {width:,} {plural} differ: {shown}{', …' if count > NAMED else ''}")
    return " and ".join(told)


def _advice(fitted: Fitted) -> str:
    if fitted.constant:
        return "record it again: nothing of the input is in it, as in an array that was never filled"
    if fitted.differs.mean() > 0.5:
        return "the run held other weights than this checkpoint: record with this one, or audit that one"
    return "these channels held other numbers when the run was recorded: compare them with their source"


def _numbers(fitted: Fitted, form: Variant) -> dict[str, float]:
    """`gain[138] stored` and `gain[138] recovered` of the first few."""
    numbers: dict[str, float] = {}
    sides = (
        ("gain", fitted.gain_differs, fitted.pair.gain, form.gain),
        ("bias", fitted.bias_differs, fitted.pair.bias, form.bias),
    )
    for what, differs, recovered, stored in sides:
        for channel in np.flatnonzero(differs)[:NAMED]:
            absent = 1.0 if what == "gain" else 0.0
            numbers[f"{what}[{channel}] stored"] = absent if stored is None else float(stored[channel])
            numbers[f"{what}[{channel}] recovered"] = float(recovered[channel])
    return numbers


def _predict(suspect: Suspect, fitted: Fitted) -> Callable[[Batch], Prediction]:
    def predict(batch: Batch) -> Prediction:
        rows, used = widened(reference(batch, suspect), fitted.pair)
        return Prediction(rows, (used,))

    return predict
