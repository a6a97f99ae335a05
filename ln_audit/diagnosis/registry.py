"""The registry of hypotheses, simplest first within each freedom. A new one is a file of this package and one line here.

It stands in a module of its own so that only a recording that does not fit pays for importing all of them.
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
    stored_narrower,
    two_at_once,
    wrong_axis,
)

if TYPE_CHECKING:
    from ln_audit.diagnosis.hypothesis import Hypothesis

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
    # two faults at once
    two_at_once,
    # each of the following takes numbers from the output
    fitted_epsilon,
    one_pass,
    low_precision,
    stored_narrower,
    scaled,
    # and this one many of them
    other_parameters,
)
