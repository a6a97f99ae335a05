"""Walks through recorded rows block by block, so that a recording larger than memory is judged in a few megabytes."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import RecordingError
from ln_audit.numerics.floats import Format, float64
from ln_audit.numerics.judge import Hypothesis, Setting, judge, prepare
from ln_audit.numerics.output_dtype import narrowest
from ln_audit.numerics.rounded_input import RoundingSigns
from ln_audit.numerics.summation import LANES
from ln_audit.numerics.tally import NonfiniteCount, Tally

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ln_audit.core import Rows
    from ln_audit.numerics.floats import Array

BLOCK_ELEMENTS = 2**15  # 256 kB per float64 temporary: what one formula touches stays in the L2 cache


class Block(NamedTuple):
    """Rows `first_row` and following, [n, d], in float64."""

    first_row: int
    before: Array
    after: Array


class Survey(NamedTuple):
    """One pass: a tally for each hypothesis, and the non-finite numbers on both sides."""

    tallies: tuple[Tally, ...]
    before: NonfiniteCount
    after: NonfiniteCount


def block_rows(width: int) -> int:
    """How many rows make a block."""
    return max(1, BLOCK_ELEMENTS // width)


def blocks(rows: Rows) -> Iterator[Block]:
    """All of the recording, in order."""
    first_row = 0
    for before, after in rows.blocks(block_rows(rows.width)):
        yield Block(first_row, float64(before), float64(after))
        first_row += len(before)


def picked(rows: Rows, numbers: Collection[int]) -> Iterator[Block]:
    """These rows of it, each a block of its own, in order; read up to the last of them."""
    wanted, first_row = sorted(set(numbers), reverse=True), 0
    for before, after in rows.blocks(block_rows(rows.width)) if wanted else ():
        while wanted and wanted[-1] < first_row + len(before):
            at = wanted.pop() - first_row
            yield Block(first_row + at, float64(before[at : at + 1]), float64(after[at : at + 1]))
        if not wanted:
            return
        first_row += len(before)


def survey(rows: Rows, hypotheses: Sequence[Hypothesis], setting: Setting) -> Survey:
    """Judge everything under each hypothesis. Raises `RecordingError` where `before` is not what was declared of it."""
    tallies = tuple(Tally() for _ in hypotheses)
    before, after = NonfiniteCount(), NonfiniteCount()
    for block in blocks(rows):
        before.add(block.before, block.first_row)
        after.add(block.after, block.first_row)
        if setting.before_rounded is not None:
            _check_rounded(block, setting.before_rounded)
        prepared = prepare(block.before, setting)
        for tally, hypothesis in zip(tallies, hypotheses, strict=True):
            tally.add(judge(prepared, block.after, hypothesis, setting), block.first_row)
    return Survey(tallies, before, after)


def summation_order(
    rows: Rows, hypothesis: Hypothesis, setting: Setting, worst: Collection[int] = ()
) -> tuple[int | None, bool]:
    """The fewest lanes whose simulated sums explain the recording (None: no order), and whether k = d bounds it.

    The `worst` rows are looked at first: what they contradict need not be tried on the others.
    """
    worst_case = replace(setting, worst_case=True)
    bounded = Tally()
    orders = {lanes: Tally() for lanes in LANES}
    for block in chain(picked(rows, worst), blocks(rows)):
        bounded.add(judge(prepare(block.before, worst_case), block.after, hypothesis, worst_case), block.first_row)
        if not bounded.within:
            return None, False
        for lanes, tally in orders.items():
            simulated = replace(setting, lanes=lanes)
            tally.add(judge(prepare(block.before, simulated), block.after, hypothesis, simulated), block.first_row)
        orders = {lanes: tally for lanes, tally in orders.items() if tally.within}
    return next((lanes for lanes, tally in orders.items() if tally.clean), None), True


def undeclared_rounding(
    rows: Rows, hypotheses: Sequence[Hypothesis], best: int, setting: Setting, worst: Collection[int] = ()
) -> Format | None:
    """The dtype to which `before` seems to have been rounded after the norm had read it; None where nothing says so.

    Under any of the hypotheses it may explain; the deviations must look like rounding under the one that fits `best`,
    since a wrong chain scatters its results too. The `worst` rows are looked at first.
    """
    rounded = narrowest((before for before, _ in rows.blocks(block_rows(rows.width))), rows.before_dtype)
    if rounded.u <= setting.compute.u:
        return None
    allowed = replace(setting, before_rounded=rounded)
    tallies = [Tally() for _ in hypotheses]

    def explains(block: Block) -> bool:
        loose = prepare(block.before, allowed)
        for tally, hypothesis in zip(tallies, hypotheses, strict=True):
            tally.add(judge(loose, block.after, hypothesis, allowed), block.first_row)
        return any(tally.within for tally in tallies)

    if not all(explains(block) for block in picked(rows, worst)):
        return None
    signs = RoundingSigns()
    for block in blocks(rows):
        exact = prepare(block.before, setting)
        as_exact = judge(exact, block.after, hypotheses[best], setting)
        signs.add(as_exact, exact, block.before, hypotheses[best].variant, rounded)
        if not explains(block):
            return None
    return rounded if signs.plausible and any(tally.clean for tally in tallies) else None


def _check_rounded(block: Block, rounded: Format) -> None:
    inexact = ~rounded.holds(block.before)
    if inexact.any():
        row, channel = divmod(int(inexact.argmax()), inexact.shape[1])
        raise RecordingError(
            f"before: row {block.first_row + row} channel {channel}: expected a {rounded.name} number, as declared by "
            f"before_rounded, found {float(block.before[row, channel])!r}",
            hint="say --before-rounded only where `before` was rounded to that dtype",
        )
