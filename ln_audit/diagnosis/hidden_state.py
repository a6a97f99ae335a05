"""The norm's input was another of the recorded hidden states than `before`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters
from ln_audit.diagnosis.no_norm import carries_the_norm

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "hidden-state"
FREEDOM = 0


def applies(suspect: Suspect) -> bool:
    """Where the recording holds hidden states of this shape."""
    return bool(suspect.states)


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """The last states first: the final norm's input is among them, if it is there at all."""
    predict = with_parameters(suspect, suspect.parameters)
    before = "already carries the norm" if carries_the_norm(suspect, batch.before) else "is another state"
    for number in sorted(suspect.states, reverse=True):
        name = f"before {before}: hidden_states.{number} is what this norm saw"
        advice = f"record hidden_states.{number} as before"
        yield Fault(name, advice, predict, {"state": float(number)}, number)
