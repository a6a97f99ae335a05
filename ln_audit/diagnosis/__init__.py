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
    stored_narrower,
    two_at_once,
    wrong_axis,
)
from ln_audit.diagnosis.hypothesis import Suspect
from ln_audit.diagnosis.search import Diagnosis, search
from ln_audit.numerics.compare import compare as against_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Comparison, Rows
    from ln_audit.diagnosis.hypothesis import Hypothesis, Other
    from ln_audit.numerics.judge import Hypothesis as Honest
    from ln_audit.numerics.judge import Setting
    from ln_audit.numerics.parameters import NormParameters

__all__ = ["HYPOTHESES", "Diagnosis", "Suspect", "compare", "diagnose"]

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


def diagnose(suspect: Suspect, honest: Honest, *, bounded: bool = False) -> Diagnosis:
    """What explains the recording, of everything in the registry; `bounded` by the worst case of its sums, or not."""
    return search(HYPOTHESES, suspect, honest, bounded=bounded)


def compare(
    rows: Rows,
    parameters: NormParameters,
    *,
    norm: str,
    recording: str,
    provenance: str,
    output_dtype: str | None = None,
    output_dtype_source: str = "--output-dtype",
    before_rounded: str | None = None,
    packaged: bool = False,
    others: Callable[[], Sequence[Other]] = tuple,
    states: Callable[[], Mapping[int, Rows]] = dict,
) -> Comparison:
    """`numerics.compare` with a diagnosis where the rows do not agree.

    `others` gives the checkpoint's other norms of this width, `states` the recorded hidden states; neither is asked for
    before a diagnosis needs it. Raises what `numerics.compare` raises.
    """

    def cause(setting: Setting, honest: Honest, bounded: bool) -> Diagnosis:
        suspect = Suspect(norm, parameters, setting, rows, tuple(others()), states())
        return diagnose(suspect, honest, bounded=bounded)

    return against_reference(
        rows,
        parameters,
        norm=norm,
        recording=recording,
        provenance=provenance,
        output_dtype=output_dtype,
        output_dtype_source=output_dtype_source,
        before_rounded=before_rounded,
        packaged=packaged,
        diagnose=cause,
    )
