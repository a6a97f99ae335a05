"""Two faults that are copied together: the deviation of teaching code, with the epsilon that this code was written with.

The annotated transformer's LayerNorm divides by `x.std(-1) + eps` (d − 1, epsilon outside the root), eps = 1e-6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis import another_epsilon
from ln_audit.diagnosis.deviation import deviations
from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "two-at-once"
FREEDOM = 1


def applies(_: Suspect) -> bool:
    """Every norm divides by a deviation, and has an epsilon."""
    return True


def faults(suspect: Suspect, _: Batch) -> Iterator[Fault]:
    """Each other way to form the deviation with each default epsilon that is not the norm's own."""
    own = suspect.parameters.eps
    for eps in another_epsilon.others(own):
        for each in deviations(suspect, eps):
            advice = f"{each.advice}; and hand the config's epsilon {own:g} on to the module"
            yield Fault(f"{each.name}, with epsilon {eps:g}", advice, each.predict, {"epsilon": eps}, kin=each.name)
