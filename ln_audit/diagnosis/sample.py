"""The rows that a diagnosis looks at: the worst ones and some from all over the recording, bounded whatever its size."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch
from ln_audit.numerics.judge import judge, prepare
from ln_audit.numerics.stream import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ln_audit.core import Rows
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.judge import Hypothesis as Honest
    from ln_audit.numerics.judge import Judgement, Setting

SAMPLE_ELEMENTS = 2**17  # 1 MB per float64 array: a hundred trials of it take a second or two
FEWEST = 4  # rows, however wide
PROBE = 4  # rows that most hypotheses fail on already


class Evidence(NamedTuple):
    """Rows of a recording: those to begin with, the others, both together; `whole` says that there are no more."""

    probe: Batch
    others: Batch
    sample: Batch
    whole: bool


def evidence(rows: Rows, honest: Honest, setting: Setting) -> Evidence:
    """Half of the sample are the rows that deviate most from the reference, half are spread over the recording."""
    room = max(FEWEST, SAMPLE_ELEMENTS // rows.width)
    worst = _worst(rows, honest, setting, max(1, min(room, rows.positions) // 2))
    spread = _spread(rows.positions, room - room // 2)
    whole = rows.positions <= room
    chosen = np.arange(rows.positions) if whole else np.union1d(worst, spread)
    sample = take(rows, chosen)
    probe = np.union1d(worst[: PROBE // 2], _spread(rows.positions, PROBE // 2))
    begin = np.isin(sample.at, probe)
    return Evidence(part(sample, begin), part(sample, ~begin), sample, whole)


def take(rows: Rows, at: NDArray[np.int64]) -> Batch:
    """The rows of these numbers (ascending), in one walk."""
    before, after = [], []
    for block in blocks(rows):
        first, end = np.searchsorted(at, (block.first_row, block.first_row + len(block.before)))
        wanted = at[first:end] - block.first_row
        before.append(block.before[wanted])
        after.append(block.after[wanted])
    return Batch(at, np.concatenate(before), np.concatenate(after))


def part(batch: Batch, kept: NDArray[np.bool_]) -> Batch:
    """Some rows of a batch."""
    return Batch(batch.at[kept], batch.before[kept], None if batch.after is None else batch.after[kept])


def batches(rows: Rows) -> Iterator[Batch]:
    """The whole recording, block by block."""
    for block in blocks(rows):
        yield Batch(np.arange(len(block.before)) + block.first_row, block.before, block.after)


def _spread(positions: int, wanted: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, positions - 1, min(wanted, positions)).astype(np.int64))


def _worst(rows: Rows, honest: Honest, setting: Setting, wanted: int) -> NDArray[np.int64]:
    """The rows with the most elements off, the largest error ratio first among equals."""
    heap: list[tuple[float, float, int]] = []
    for block in blocks(rows):
        missed, ratio = _scores(judge(prepare(block.before, setting), block.after, honest, setting))
        for row in np.flatnonzero(missed):
            entry = (float(missed[row]), float(ratio[row]), block.first_row + int(row))
            if len(heap) < wanted:
                heapq.heappush(heap, entry)
            elif entry > heap[0]:
                heapq.heapreplace(heap, entry)
    return np.array([row for *_, row in sorted(heap, reverse=True)], dtype=np.int64)


def _scores(held: Judgement) -> tuple[Array, Array]:
    ratio = np.where(np.isnan(held.ratio), 0.0, held.ratio)
    missed: Array = (held.outside | held.wrong | (ratio > 1)).sum(axis=1).astype(np.float64)
    return missed, ratio.max(axis=1)
