"""Which fault explains a recording that the reference does not, and what a recording can see of each (NUMERICS 6, 7).

The registry of hypotheses, simplest first within each freedom. A new one is a file of this package and one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.diagnosis import (
    another_epsilon,
    deviation,
    gain_offset,
    missing_parameters,
    other_kind,
)

if TYPE_CHECKING:
    from ln_audit.diagnosis.hypothesis import Hypothesis

HYPOTHESES: tuple[Hypothesis, ...] = (
    another_epsilon,
    deviation,
    other_kind,
    gain_offset,
    missing_parameters,
)
