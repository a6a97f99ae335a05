"""Another norm of the same checkpoint made this output: off by one layer, or ln_1, ln_2 and ln_f mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "another-norm"
FREEDOM = 0


def applies(suspect: Suspect) -> bool:
    """Where the values of others were read."""
    return bool(suspect.others)


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """All norms of this width, the nearest in the model first."""
    for other in sorted(suspect.others, key=lambda each: abs(each.step)):
        count, way = abs(other.step), "early" if other.step < 0 else "late"
        where = f"one norm too {way}" if count == 1 else f"{count} norms too {way}"
        advice = f"record the output of {suspect.name}, or name the norm it belongs to: --norm {other.name}"
        predict = with_parameters(suspect, other.parameters)
        yield Fault(f"matches {other.name}: {where}", advice, predict, {"step": float(other.step)})
