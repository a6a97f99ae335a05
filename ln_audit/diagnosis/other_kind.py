"""RMSNorm where LayerNorm belongs, or the reverse: the converter or the serving kernel chose the wrong one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "kind"
FREEDOM = 0

TITLES = {"layer_norm": "LayerNorm", "rms_norm": "RMSNorm"}
OPPOSITE = {"layer_norm": "rms_norm", "rms_norm": "layer_norm"}


def applies(suspect: Suspect) -> bool:
    """Where there is an opposite."""
    return suspect.parameters.kind in OPPOSITE


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """With the bias as it is, and without one where there is one."""
    norm = suspect.parameters
    other = OPPOSITE[norm.kind]
    fits, own = TITLES[other], TITLES[norm.kind]
    advice = f"use {own}: it {'takes' if norm.kind == 'layer_norm' else 'does not take'} the mean off"
    yield Fault(f"{fits} fits, {own} does not", advice, with_parameters(suspect, replace(norm, kind=other)))
    if norm.bias is not None:
        predict = with_parameters(suspect, replace(norm, kind=other, bias=None))
        yield Fault(f"{fits} without a bias fits, {own} does not", f"{advice}, and has a bias", predict)
