"""The run used another epsilon: the config's value was not handed on, or a converter wrote its own default."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "epsilon"
FREEDOM = 0

DEFAULTS = (1e-6, 1e-5, 1e-12, 1e-3, 1e-8, 0.0)  # what frameworks and converters write, the most frequent first


def applies(_: Suspect) -> bool:
    """Every norm has one."""
    return True


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """One for each default that is not the norm's own."""
    own = suspect.parameters.eps
    for eps in others(own):
        yield fault(suspect, eps, f"epsilon {eps:g} instead of {own:g}", NAME)


def others(own: float) -> list[float]:
    """The defaults that are not the norm's own; 9.99999997e-07 is 1e-06, as float32 holds it."""
    return [eps for eps in DEFAULTS if abs(eps - own) > 1e-6 * own]


def fault(suspect: Suspect, eps: float, name: str, kin: str) -> Fault:
    """The same norm with `eps`."""
    own = suspect.parameters.eps
    advice = f"hand the config's epsilon {own:g} on to the module; if {eps:g} is right, correct the config"
    predict = with_parameters(suspect, replace(suspect.parameters, eps=eps))
    return Fault(name, advice, predict, {"epsilon": eps}, kin=kin)
