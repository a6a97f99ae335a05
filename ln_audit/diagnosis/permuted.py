"""Channels stand in another order: reversed, rolled, or regrouped by heads, in the parameters, the input or the output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction, Suspect, forms, reference, with_parameters
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.parameters import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Order = NDArray[np.int64]

NAME = "channels"
FREEDOM = 0

HEADS = (
    2,
    4,
    8,
    12,
    16,
    20,
    24,
    25,
    32,
    40,
    48,
    64,
    96,
    128,
)  # numbers of heads, and pairs as rotary embeddings interleave


def applies(suspect: Suspect) -> bool:
    """From two channels on."""
    return suspect.rows.width > 1


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """Each order in the parameters alone, in the input alone, and in the output (both at once)."""
    has_parameters = suspect.parameters.gain is not None or suspect.parameters.bias is not None
    for told, order in _orders(suspect.rows.width):
        advice = f"put the channels back into the stored order: they are {told}"
        if has_parameters:
            yield Fault(f"gain and bias {told}", advice, _parameters(suspect, order))
            yield Fault(f"input channels {told}", advice, _rows(suspect, order, whole=False))
        yield Fault(f"output channels {told}", advice, _rows(suspect, order, whole=True))


def _orders(d: int) -> Iterator[tuple[str, Order]]:
    channels = np.arange(d)
    yield "reversed", channels[::-1]
    if d > 2:
        yield "rolled by one", np.roll(channels, 1)
        yield "rolled by minus one", np.roll(channels, -1)
    for heads in HEADS:
        if d % heads == 0 and d // heads > 1:
            yield f"regrouped, {heads} heads outermost", channels.reshape(-1, heads).T.reshape(-1)
            if heads * heads != d:
                yield f"regrouped, {heads} heads innermost", channels.reshape(heads, -1).T.reshape(-1)


def _parameters(suspect: Suspect, order: Order) -> Callable[[Batch], Prediction]:
    norm = suspect.parameters
    gain = None if norm.gain is None else norm.gain[order]
    bias = None if norm.bias is None else norm.bias[order]
    return with_parameters(suspect, replace(norm, gain=gain, bias=bias))


def _rows(suspect: Suspect, order: Order, *, whole: bool) -> Callable[[Batch], Prediction]:
    used = forms(suspect)
    if whole:
        used = tuple(
            Variant(form.name, *(None if each is None else each[order] for each in (form.gain, form.bias)))
            for form in used
        )

    def predict(batch: Batch) -> Prediction:
        plain = reference(batch, suspect)
        return Prediction(Prepared(plain.z[:, order], plain.e_z[:, order], plain.r, plain.judged), used)

    return predict
