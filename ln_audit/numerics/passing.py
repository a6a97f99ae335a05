"""The passing case at memory speed: one walk in which a fast kernel clears block after block.

A kernel decides only that a block is clearly clean, and gives its figures. What is not clearly clean is judged by the
reference (`judge`); a hypothesis that fails there is dropped. As soon as none is left that would pass, the walk ends and
says so: whoever asked takes `stream.survey`, and what it finds is the reference's alone.

The worst element is the reference's too: the row that a kernel finds worse than all before is judged once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ln_audit.numerics.floats import float64
from ln_audit.numerics.judge import judge, prepare
from ln_audit.numerics.kernels import chosen
from ln_audit.numerics.stream import Survey, block_rows
from ln_audit.numerics.tally import NonfiniteCount, Tally
from ln_audit.numerics.terms import NOISE, RESOLVED, terms
from ln_audit.numerics.widen import all_held, contained

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from ln_audit.core import Rows
    from ln_audit.numerics.judge import Hypothesis, Setting
    from ln_audit.numerics.kernels import Fast
    from ln_audit.numerics.terms import Kernel

    Pair = tuple[NDArray[Any], NDArray[Any]]


@runtime_checkable
class Lending(Protocol):
    """Rows that read ahead into buffers they use again."""

    def lent_blocks(self, rows: int) -> Iterator[Pair]:
        """As `core.Rows.blocks`, each block valid until the next is asked for."""


@dataclass(slots=True)
class Candidate:
    """One hypothesis that has agreed so far. `best`: the largest ratio that its kernel has found."""

    hypothesis: Hypothesis
    kernel: Kernel
    tally: Tally = field(default_factory=Tally)
    best: float = 0.0


def survey(
    rows: Rows, hypotheses: Sequence[Hypothesis], setting: Setting, own: Collection[int], fast: Fast | None = None
) -> Survey | None:
    """What `stream.survey` finds, where one of the hypotheses `own` agrees throughout; None where it has to be asked.

    None too where no kernel pays or serves, and where not all of `after` is a number of an inferred output dtype. The
    tallies of hypotheses that were dropped on the way are incomplete, and not clean.
    """
    fast = fast or chosen(_size(rows))
    if fast is None:
        return None
    candidates = []
    for hypothesis in hypotheses:
        told = terms(hypothesis, setting, rows.width)
        kernel = None if told is None else fast.kernel(told)
        if kernel is None:
            return None
        candidates.append(Candidate(hypothesis, kernel))
    return _walk(rows, candidates, setting, {id(candidates[at]) for at in own})


def _size(rows: Rows) -> int:
    return sum(rows.positions * rows.width * bits // 8 for bits in map(_bits, (rows.before_dtype, rows.after_dtype)))


def _bits(dtype: str) -> int:
    return {"float64": 64, "float32": 32}.get(dtype, 16)


def _walk(rows: Rows, candidates: list[Candidate], setting: Setting, own: Collection[int]) -> Survey | None:
    nonfinite = NonfiniteCount(), NonfiniteCount()
    to_hold = None if contained(rows.after_dtype, setting.output) else setting.output
    left, first_row = list(candidates), 0
    for block in _blocks(rows, candidates[0].kernel.rows):
        if to_hold is not None and not all_held(block[1], to_hold):
            return None
        unclear = [each for each in left if not _cleared(each, block, setting, first_row)]
        if unclear:
            _judge(unclear, block, setting, first_row, nonfinite)
            left = [each for each in left if each.tally.within]
            if not any(id(each) in own for each in left):
                return None
        first_row += len(block[0])
    return Survey(tuple(each.tally for each in candidates), *nonfinite)


def _blocks(rows: Rows, at_most: int) -> Iterator[Pair]:
    return rows.lent_blocks(at_most) if isinstance(rows, Lending) else rows.blocks(at_most)


def _cleared(candidate: Candidate, block: Pair, setting: Setting, first_row: int) -> bool:
    """Whether the kernel finds the block clean, which is then added up; a new worst element is the reference's."""
    figures = candidate.kernel.judge(*block, candidate.best)
    if figures is None or max(figures.ratio, candidate.best) < RESOLVED:
        return False
    tally, row = candidate.tally, figures.row
    if figures.ratio > candidate.best:
        candidate.best, seen = figures.ratio, Tally()
        before, after = (float64(side[row : row + 1]) for side in block)
        seen.add(judge(prepare(before, setting), after, candidate.hypothesis, setting), first_row + row)
        if not seen.clean:
            return False
        if seen.max_ratio > tally.max_ratio * (1 + NOISE):
            tally.worst = seen.worst
    tally.judged += block[0].size
    tally.max_abs_error = max(tally.max_abs_error or 0.0, figures.error)
    return True


def _judge(
    candidates: Sequence[Candidate],
    block: Pair,
    setting: Setting,
    first_row: int,
    nonfinite: tuple[NonfiniteCount, NonfiniteCount],
) -> None:
    """The reference's judgement of a block, in pieces as large as it likes them."""
    step = block_rows(block[0].shape[1])
    for at in range(0, len(block[0]), step):
        before, after = (float64(side[at : at + step]) for side in block)
        for count, side in zip(nonfinite, (before, after), strict=True):
            count.add(side, first_row + at)
        prepared = prepare(before, setting)
        for each in candidates:
            each.tally.add(judge(prepared, after, each.hypothesis, setting), first_row + at)
            each.best = max(each.best, each.tally.max_ratio)
