"""The norm's input was another of the recorded hidden states than `before`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "hidden-state"
FREEDOM = 0


def applies(suspect: Suspect) -> bool:
    """Where the recording holds hidden states of this shape."""
    return bool(suspect.states)


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """The last states first: the final norm's input is among them, if it is there at all."""
    predict = with_parameters(suspect, suspect.parameters)
    for number in sorted(suspect.states, reverse=True):
        name = f"hidden_states.{number} is the input of this norm, before is another state"
        advice = f"record hidden_states.{number} as before"
        yield Fault(name, advice, predict, {"state": float(number)}, number)
