"""Both arrays of a pair in a walk through buffers that are used again and again: memory stays flat, and in the cache.

A block is read just before it is judged, so that it is still in the processor's cache; meanwhile the system is told to
fetch what comes next from the disk. A thread that reads ahead itself would pay for that with a cache of its own.
"""

from __future__ import annotations

from contextlib import ExitStack
from mmap import mmap
from typing import TYPE_CHECKING, Any

from ln_audit.recording.dtypes import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.recording.arrays import ArrayFile, Lying

    Block = np.ndarray[Any, Any]
    Pair = tuple[Block, Block]


def lent_parts(before: ArrayFile, after: ArrayFile, rows: int, parts: int) -> list[tuple[int, Iterator[Pair]]]:
    """Up to `parts` walks that may run side by side, one behind the other in the arrays: each with its first row.

    Blocks have at most `rows` rows, before and after [n, d], and are valid until the next of their walk is asked for.
    Arrays that can only be read from the beginning are one part.
    """
    if before.lying is None or after.lying is None:
        return [(0, zip(before.blocks(rows), after.blocks(rows), strict=True))]
    blocks = -(-before.positions // rows)
    begins = [rows * (blocks * part // parts) for part in range(parts)]
    ends = [*begins[1:], before.positions]
    return [(at, _walk(before, after, rows, range(at, end))) for at, end in zip(begins, ends, strict=True) if at < end]


def _walk(before: ArrayFile, after: ArrayFile, rows: int, part: range) -> Iterator[Pair]:
    with ExitStack() as opened:
        sides = [_blocks(side, side.lying, rows, part, opened) for side in (before, after) if side.lying is not None]
        yield from zip(*sides, strict=True)


def _blocks(array: ArrayFile, lying: Lying, rows: int, part: range, opened: ExitStack) -> Iterator[Block]:
    fill = opened.enter_context(lying.kept_open())
    row = array.width * array.element.size
    buffer = memoryview(mmap(-1, min(rows, len(part)) * row))  # begins on a page: every number is aligned
    for at in range(part.start, part.stop, rows):
        view = buffer[: min(rows, part.stop - at) * row]
        fill(lying.begin + at * row, view)
        yield numbers(view, array.element).reshape(-1, array.width)
