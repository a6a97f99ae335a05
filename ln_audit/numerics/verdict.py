"""From the evidence of a comparison to its verdict: the order of docs/numerics.md, section 5, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ln_audit.comparison import Explanation
    from ln_audit.core import Status
    from ln_audit.numerics.floats import Format
    from ln_audit.numerics.tally import NonfiniteCount, Tally


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one recording.

    `tally`: under the honest hypothesis that fits best. `other_chain`: a known rounding chain, not the family's, that
    keeps every cell. `lanes`: a summation order that explains. `within_worst_case`: bounded by k = d. `before_rounded`:
    an undeclared rounding of the input that explains. `explanations`: faults that explain; None if nobody has looked.
    `nearest`: where none does, how far the nearest goes, in words. `undecided`: it goes all the way, but so may the sums.
    """

    tally: Tally
    before: NonfiniteCount
    other_chain: str | None = None
    lanes: int | None = None
    within_worst_case: bool = False
    before_rounded: Format | None = None
    explanations: tuple[Explanation, ...] | None = None
    nearest: str = ""
    undecided: bool = False


class Decision(NamedTuple):
    """What becomes of a comparison; `finding` is its stable short name."""

    status: Status
    finding: str


def decide(evidence: Evidence) -> Decision:
    """The first line that applies. Nothing judged is never a pass; what nobody has looked into is a failure."""
    tally, faults = evidence.tally, evidence.explanations
    tried = faults is not None  # only once faults have been tried and none fits is a bounded deviation no fault
    order = (
        (evidence.before.first is not None, Decision("fail", "nonfinite-input")),
        (tally.judged == 0, Decision("skip", "nothing-judged")),
        (tally.wrong > 0, Decision("fail", "nonfinite-output")),
        (tally.inexact > 0, Decision("fail", "wrong-output-dtype")),
        (evidence.other_chain is not None, Decision("warn", "another-rounding-chain")),
        (tally.clean, Decision("pass", "agrees")),
        (evidence.lanes is not None and bool(faults), Decision("warn", "cannot-tell")),
        (evidence.lanes is not None, Decision("warn", "summation-order")),
        (bool(faults), Decision("fail", "off-reference")),
        (evidence.before_rounded is not None, Decision("skip", "before-rounded")),
        (evidence.undecided, Decision("skip", "unexplained")),
        (tried and not tally.over, Decision("warn", "another-rounding-chain")),
        (tried and evidence.within_worst_case, Decision("skip", "unexplained")),
    )
    return next((decision for applies, decision in order if applies), Decision("fail", "off-reference"))
