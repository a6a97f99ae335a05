"""Gain or bias was not applied, or one was taken for the other: renamed keys, folded exports, `fold_ln=True`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "missing-parameters"
FREEDOM = 0

_LOADED = (
    "check that the loader found {} under the key it expects; a missing key starts fresh, a folded export holds none"
)


def applies(suspect: Suspect) -> bool:
    """Where there is something to leave out."""
    return suspect.parameters.gain is not None or suspect.parameters.bias is not None


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """Gain missing, bias missing, both missing, swapped."""
    norm = suspect.parameters
    without_gain = replace(norm, gain=None, weight_offset=0.0)
    if norm.gain is not None:
        yield Fault("gain missing", _LOADED.format("the gain"), with_parameters(suspect, without_gain))
    if norm.bias is not None:
        without_bias = replace(norm, bias=None)
        yield Fault("bias missing", _LOADED.format("the bias"), with_parameters(suspect, without_bias))
    if norm.gain is not None and norm.bias is not None:
        neither = replace(without_gain, bias=None)
        yield Fault("gain and bias missing", _LOADED.format("gain and bias"), with_parameters(suspect, neither))
        swapped = replace(norm, gain=norm.bias, bias=norm.gain)
        told = "hand them over in their order: weight is the gain, bias is added"
        yield Fault("gain and bias swapped", told, with_parameters(suspect, swapped))
