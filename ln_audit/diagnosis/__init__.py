"""Which fault explains a recording that the reference does not, and what a recording can see of each (NUMERICS 6, 7).

The registry of hypotheses, simplest first within each freedom. A new one is a file of this package and one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis import (
    another_epsilon,
    another_norm,
    deviation,
    fitted_epsilon,
    gain_offset,
    hidden_state,
    low_precision,
    missing_parameters,
    no_norm,
    normed_twice,
    one_pass,
    other_kind,
    other_parameters,
    overflow,
    permuted,
    precision,
    scaled,
    wrong_axis,
)
from ln_audit.diagnosis.search import Diagnosis, search

if TYPE_CHECKING:
    from ln_audit.diagnosis.hypothesis import Hypothesis, Suspect
    from ln_audit.numerics.judge import Hypothesis as Honest

HYPOTHESES: tuple[Hypothesis, ...] = (
    another_epsilon,
    no_norm,
    normed_twice,
    other_kind,
    gain_offset,
    missing_parameters,
    deviation,
    another_norm,
    hidden_state,
    precision,
    overflow,
    permuted,
    wrong_axis,
    # each of the following takes numbers from the output
    fitted_epsilon,
    scaled,
    one_pass,
    low_precision,
    other_parameters,
)


def diagnose(suspect: Suspect, honest: Honest) -> Diagnosis:
    """What explains the recording, of everything in the registry."""
    return search(HYPOTHESES, suspect, honest)
