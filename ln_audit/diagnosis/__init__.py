"""Which fault explains a recording that the reference does not (docs/numerics.md, section 6).

`compare` is the comparison of `numerics` with a diagnosis behind it; the hypotheses are in `registry.py`, one file each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.numerics.compare import compare as against_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.core import Rows
    from ln_audit.diagnosis.hypothesis import Other, Suspect
    from ln_audit.diagnosis.search import Diagnosis
    from ln_audit.numerics.judge import Hypothesis as Honest
    from ln_audit.numerics.judge import Setting
    from ln_audit.numerics.parameters import NormParameters

__all__ = ["compare", "diagnose"]


def diagnose(suspect: Suspect, honest: Honest, *, bounded: bool = False) -> Diagnosis:
    """What explains the recording, of everything in the registry; `bounded` by the worst case of its sums, or not."""
    from ln_audit.diagnosis.registry import HYPOTHESES
    from ln_audit.diagnosis.search import search

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
    pictures: bool = False,
    others: Callable[[], Sequence[Other]] = tuple,
    states: Callable[[], Mapping[int, Rows]] = dict,
) -> Comparison:
    """`numerics.compare` with a diagnosis where the rows do not agree.

    `others` gives the checkpoint's other norms of this width, `states` the recorded hidden states; neither is asked for
    before a diagnosis needs it. Raises what `numerics.compare` raises.
    """

    def cause(setting: Setting, honest: Honest, bounded: bool) -> Diagnosis:
        from ln_audit.diagnosis.hypothesis import Suspect

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
        pictures=pictures,
        diagnose=cause,
    )
