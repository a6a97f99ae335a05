"""The one line that says what a comparison found, with the numbers that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ln_audit.numerics.tally import Element, Tally
    from ln_audit.numerics.verdict import Evidence


@dataclass(frozen=True, slots=True)
class Words:
    """Says a finding of one recording: its width, the shape of its positions, and the dtype and chain of the run."""

    width: int
    leading: tuple[int, ...]
    output: str
    chain: str | None

    @property
    def positions(self) -> int:
        """How many rows there are."""
        return int(np.prod(self.leading, dtype=np.int64))

    def index(self, row: int) -> tuple[int, ...]:
        """A row's number as an index into the recording's leading axes."""
        return tuple(int(axis) for axis in np.unravel_index(row, self.leading)) if self.leading else ()

    def at(self, element: Element) -> str:
        """`[0, 3, 138]`."""
        return str([*self.index(element.row), element.channel])

    def say(self, finding: str, evidence: Evidence) -> str:
        """The message of a finding."""
        sentence = {
            "nonfinite-input": self._nonfinite_input,
            "nothing-judged": self._nothing_judged,
            "nonfinite-output": self._nonfinite_output,
            "wrong-output-dtype": self._wrong_output_dtype,
            "agrees": self._agrees,
            "cannot-tell": self._cannot_tell,
            "summation-order": self._order,
            "another-rounding-chain": self._another_chain,
            "before-rounded": self._rounded,
            "unexplained": self._unexplained,
            "off-reference": self._off,
        }[finding]
        return sentence(evidence)

    def _nothing_judged(self, _: Evidence) -> str:
        return (
            f"none of {self.positions:,} positions can be judged: every row is ill-conditioned (its variance + epsilon "
            "is 0, or drowns in the rounding of its mean)"
        )

    def _nonfinite_input(self, evidence: Evidence) -> str:
        count = evidence.before
        row, channel = divmod(count.first or 0, self.width)
        return (
            f"before at {[*self.index(row), channel]}: expected a finite number, found {count.inf:,} infinities and "
            f"{count.nan:,} NaN in all: the fault lies upstream of this norm"
        )

    def _nonfinite_output(self, evidence: Evidence) -> str:
        tally = evidence.tally
        if (element := tally.first_wrong) is None:
            return self._off(evidence)
        cause = f"{_named(evidence)}: " if evidence.explanations else ""
        return (
            f"{cause}after at {self.at(element)}: expected {element.expected:.9g}, found {element.recorded}; "
            f"{_of(tally.wrong, tally.judged)} are NaN or infinite where the reference is not"
        )

    def _wrong_output_dtype(self, evidence: Evidence) -> str:
        tally = evidence.tally
        if (element := tally.first_inexact) is None:
            return self._off(evidence)
        return (
            f"after at {self.at(element)}: expected a {self.output} number, as declared, found {element.recorded!r}; "
            f"{_of(tally.inexact, tally.judged)} are outside every cell"
        )

    def _agrees(self, evidence: Evidence) -> str:
        tally = evidence.tally
        cells = f", none is outside its {self.output} rounding cell (chain `{self.chain}`)" if self.chain else ""
        unjudged = self.positions * self.width - tally.judged
        left_out = f"; {unjudged:,} elements of ill-conditioned rows were not judged" if unjudged else ""
        agreement = f"all {tally.judged:,} judged elements at {self.positions:,} positions agree{cells}"
        return f"{agreement}; {self._worst(tally)}{left_out}"

    def _order(self, evidence: Evidence) -> str:
        order = "one by one" if evidence.lanes == 1 else f"in {evidence.lanes} lanes"
        return f"a correct norm that sums {order} explains it; {self._worst(evidence.tally)}"

    def _cannot_tell(self, evidence: Evidence) -> str:
        named = ", ".join(each.name for each in evidence.explanations or ())
        return f"cannot tell from {named}: {self._order(evidence)}"

    def _another_chain(self, evidence: Evidence) -> str:
        if evidence.other_chain is not None:
            return f"the run rounds as `{evidence.other_chain}`, not as its family does; {self._worst(evidence.tally)}"
        return f"{self._cells(evidence.tally)}: the run rounds in another order than any that is known"

    def _rounded(self, evidence: Evidence) -> str:
        dtype = evidence.before_rounded.name if evidence.before_rounded else ""
        return (
            f"`before` looks rounded to {dtype} after the norm had read it, which would explain it: "
            f"{self._off(evidence)}; if it was, say --before-rounded {dtype}"
        )

    def _unexplained(self, evidence: Evidence) -> str:
        return f"unexplained within the worst case of a sum of {self.width:,} terms: {self._off(evidence)}"

    def _off(self, evidence: Evidence) -> str:
        tally = evidence.tally
        cause = f"{_named(evidence)}: " if evidence.explanations else ""
        nearest = f"; {evidence.nearest}" if evidence.nearest else ""
        if not tally.over:
            return f"{cause}{self._cells(tally)}; {self._worst(tally)}{nearest}"
        return f"{cause}{_of(tally.over, tally.judged)} are off the reference; {self._worst(tally)}{nearest}"

    def _worst(self, tally: Tally) -> str:
        if (element := tally.worst) is None:
            return "no finite element was measured"
        return (
            f"largest error ratio {element.ratio:.3g} at {self.at(element)}: expected {element.expected:.9g} "
            f"± {element.tolerance:.3g}, found {element.recorded:.9g}"
        )

    def _cells(self, tally: Tally) -> str:
        if (element := tally.first_outside) is None:
            return self._worst(tally)
        return (
            f"{_of(tally.outside, tally.judged)} lie outside their {self.output} rounding cell (chain `{self.chain}`), "
            f"the first at {self.at(element)}: expected {element.low:.9g} to {element.high:.9g}, "
            f"found {element.recorded:.9g}"
        )


def _named(evidence: Evidence) -> str:
    """The first cause; where others explain as well, that they do."""
    first, *others = [each.name for each in evidence.explanations or ()]
    return f"{first}, or {' or '.join(others)} (this recording cannot tell them apart)" if others else first


def _of(count: int, judged: int) -> str:
    return f"{count:,} of {judged:,} judged elements"
