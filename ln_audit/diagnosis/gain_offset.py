"""The 1 of `1 + gain` was left out or added twice: Gemma, LayerNorm1p, and files that already hold the sum."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "gain-offset"
FREEDOM = 0


def applies(suspect: Suspect) -> bool:
    """Where there is a gain to add to."""
    return suspect.parameters.gain is not None


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """Missing or doubled where the family adds an offset; added where it does not."""
    norm, offset = suspect.parameters, suspect.parameters.weight_offset
    if offset == 0:
        added = with_parameters(suspect, replace(norm, weight_offset=1.0))
        yield Fault("gain + 1 for gain", "the stored gain is whole: multiply by gain, not by 1 + gain", added)
        return
    missing = with_parameters(suspect, replace(norm, weight_offset=0.0))
    yield Fault(f"gain + {offset:g} missing", f"multiply by {offset:g} + gain: the gain is stored without it", missing)
    doubled = with_parameters(suspect, replace(norm, weight_offset=2 * offset))
    yield Fault(f"gain + {offset:g} doubled", f"add {offset:g} to the gain once, in the file or in the module", doubled)
