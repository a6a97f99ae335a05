"""The passing case at memory speed: one walk in which a fast kernel clears block after block.

A kernel decides only that a block is clearly clean, and gives its figures. What is not clearly clean is judged by the
reference (`judge`); a hypothesis that fails there is dropped. As soon as none is left that would pass, the walk ends and
says so: whoever asked takes `stream.survey`, and what it finds is the reference's alone.

The worst element is the reference's too: the row that a kernel finds worse than all before is judged once more.
A large recording is walked in parts, one for each processor; what they find is added up in their order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Event
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
    from ln_audit.numerics.floats import Format
    from ln_audit.numerics.judge import Hypothesis, Setting
    from ln_audit.numerics.kernels import Fast
    from ln_audit.numerics.terms import Kernel, Terms

    Pair = tuple[NDArray[Any], NDArray[Any]]

PART_BYTES = 2**26  # a part of less is judged before its thread is worth it


@runtime_checkable
class Lending(Protocol):
    """Rows that can be walked in parts, through buffers that are used again."""

    def lent_parts(self, rows: int, parts: int) -> list[tuple[int, Iterator[Pair]]]:
        """Up to `parts` walks and the first row of each; a block is valid until the next of its walk is asked for."""


@dataclass(slots=True)
class Candidate:
    """One hypothesis in one part. `best`: the largest ratio that its kernel has found there."""

    hypothesis: Hypothesis
    kernel: Kernel
    tally: Tally = field(default_factory=Tally)
    best: float = 0.0


@dataclass(slots=True)
class Part:
    """One walk over some of the rows, its hypotheses in their order, those of `own` among them that have to agree."""

    first_row: int
    blocks: Iterator[Pair]
    candidates: list[Candidate]
    own: Collection[int]
    setting: Setting
    held_by: Format | None  # what every number of `after` has to be one of, where its stored dtype does not see to that
    before: NonfiniteCount = field(default_factory=NonfiniteCount)
    after: NonfiniteCount = field(default_factory=NonfiniteCount)


def survey(
    rows: Rows,
    hypotheses: Sequence[Hypothesis],
    setting: Setting,
    own: Collection[int],
    *,
    fast: Fast | None = None,
    parts: int | None = None,
) -> Survey | None:
    """What `stream.survey` finds, where one of the hypotheses `own` agrees throughout; None where it has to be asked.

    None too where no kernel pays or serves, and where not all of `after` is a number of an inferred output dtype. The
    tallies of hypotheses that were dropped on the way are incomplete, and not clean. `fast` and `parts` (walks side by side)
    are chosen by the size of the recording.
    """
    size = _size(rows)
    fast = fast or chosen(size)
    told = [terms(hypothesis, setting, rows.width) for hypothesis in hypotheses]
    if fast is None or (kernels := _kernels(fast, told)) is None:
        return None
    held_by = None if contained(rows.after_dtype, setting.output) else setting.output
    walked: list[Part] = []
    for first_row, blocks in _walks(rows, min(each.rows for each in kernels), parts or _parts(size, fast)):
        if walked:
            kernels = _kernels(fast, told) or kernels  # a kernel's buffers are its own
        candidates = [Candidate(*pair) for pair in zip(hypotheses, kernels, strict=True)]
        walked.append(Part(first_row, blocks, candidates, own, setting, held_by))
    found = _added_up(walked) if _all_pass(walked) else None
    return found if found is not None and any(found.tallies[at].within for at in own) else None


def _size(rows: Rows) -> int:
    sizes = {"float64": 8, "float32": 4}
    return sum(rows.positions * rows.width * sizes.get(each, 2) for each in (rows.before_dtype, rows.after_dtype))


def _kernels(fast: Fast, told: Sequence[Terms | None]) -> list[Kernel] | None:
    kernels = [None if each is None else fast.kernel(each) for each in told]
    there = [each for each in kernels if each is not None]
    return there if len(there) == len(kernels) else None


def _parts(size: int, fast: Fast) -> int:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(fast.MOST_PARTS, processors, size // PART_BYTES))


def _walks(rows: Rows, at_most: int, parts: int) -> list[tuple[int, Iterator[Pair]]]:
    return rows.lent_parts(at_most, parts) if isinstance(rows, Lending) else [(0, rows.blocks(at_most))]


def _all_pass(parts: Sequence[Part]) -> bool:
    stop = Event()
    if len(parts) == 1:
        return _passes(parts[0], stop)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(parts)) as pool:
        return all(pool.map(lambda part: _passes(part, stop), parts))


def _passes(part: Part, stop: Event) -> bool:
    """Walk a part until its end, or until it or another has no hypothesis left that would pass."""
    left, own = list(part.candidates), {id(part.candidates[at]) for at in part.own}
    for block in part.blocks:
        if part.held_by is not None and not all_held(block[1], part.held_by):
            stop.set()
        if stop.is_set():
            return False
        unclear = [each for each in left if not _cleared(each, block, part)]
        if unclear:
            _judge(unclear, block, part)
            left = [each for each in left if each.tally.within]
            if not any(id(each) in own for each in left):
                stop.set()
        part.first_row += len(block[0])
    return not stop.is_set()


def _cleared(candidate: Candidate, block: Pair, part: Part) -> bool:
    """Whether the kernel finds the block clean, which is then added up; a new worst element is the reference's."""
    figures = candidate.kernel.judge(*block, candidate.best)
    if figures is None or max(figures.ratio, candidate.best) < RESOLVED:
        return False
    tally, row = candidate.tally, figures.row
    if figures.ratio > candidate.best:
        candidate.best, seen = figures.ratio, Tally()
        before, after = (float64(side[row : row + 1]) for side in block)
        judgement = judge(prepare(before, part.setting), after, candidate.hypothesis, part.setting)
        seen.add(judgement, part.first_row + row)
        if not seen.clean:
            return False
        _take_worst(tally, seen)
    tally.judged += block[0].size
    tally.max_abs_error = max(tally.max_abs_error or 0.0, figures.error)
    return True


def _judge(candidates: Sequence[Candidate], block: Pair, part: Part) -> None:
    """The reference's judgement of a block, in pieces as large as it likes them."""
    step = block_rows(block[0].shape[1])
    for at in range(0, len(block[0]), step):
        before, after = (float64(side[at : at + step]) for side in block)
        part.before.add(before, part.first_row + at)
        part.after.add(after, part.first_row + at)
        prepared = prepare(before, part.setting)
        for each in candidates:
            each.tally.add(judge(prepared, after, each.hypothesis, part.setting), part.first_row + at)
            each.best = max(each.best, each.tally.max_ratio)


def _take_worst(tally: Tally, later: Tally) -> None:
    """The first element that comes within NOISE of the largest ratio."""
    if later.max_ratio > tally.max_ratio * (1 + NOISE):
        tally.worst = later.worst


def _added_up(parts: Sequence[Part]) -> Survey:
    first, *others = parts
    tallies = [each.tally for each in first.candidates]
    for part in others:
        for tally, candidate in zip(tallies, part.candidates, strict=True):
            _take_worst(tally, candidate.tally)
            _add_counts(tally, candidate.tally)
        for count, later in ((first.before, part.before), (first.after, part.after)):
            count.nan, count.inf = count.nan + later.nan, count.inf + later.inf
            count.first = later.first if count.first is None else count.first
    return Survey(tuple(tallies), first.before, first.after)


def _add_counts(tally: Tally, later: Tally) -> None:
    tally.judged, tally.over = tally.judged + later.judged, tally.over + later.over
    tally.outside, tally.wrong = tally.outside + later.outside, tally.wrong + later.wrong
    if later.max_abs_error is not None:
        tally.max_abs_error = max(later.max_abs_error, tally.max_abs_error or 0.0)
