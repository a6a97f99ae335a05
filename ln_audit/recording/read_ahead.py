"""Both arrays of a pair, read by a thread of their own while the blocks before are being judged.

The numbers are read into a few buffers that are used again and again: memory stays flat, and no page is ever faulted in
twice. Reading a file releases Python's lock, and so does the judging of a block: the two run side by side.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from mmap import mmap
from typing import TYPE_CHECKING, Any

from ln_audit.recording.dtypes import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from ln_audit.recording.arrays import ArrayFile, Lying

    Block = np.ndarray[Any, Any]
    Taker = Callable[[int], Block]  # the next block, into the buffer of that number

READ_BYTES = 2**20  # of one array at once: large enough for the cost of a call, small enough for the L2 cache
BUFFERS = 3  # one in use, one full, one being filled


def lent_blocks(before: ArrayFile, after: ArrayFile, rows: int) -> Iterator[tuple[Block, Block]]:
    """Blocks of at most `rows` rows, before and after [n, d]; each is valid until the next is asked for."""
    row = before.width * max(before.element.size, after.element.size)
    at_once = rows * max(1, READ_BYTES // (rows * row))
    with ExitStack() as opened, ThreadPoolExecutor(1) as reader:
        takers = [_taker(side, at_once, opened) for side in (before, after)]

        def read(buffer: int) -> list[Block]:
            return [take(buffer) for take in takers]

        ahead = deque(reader.submit(read, buffer) for buffer in range(BUFFERS - 1))
        for number in range(-(-before.positions // at_once)):
            one, other = ahead.popleft().result()
            ahead.append(reader.submit(read, (number - 1) % BUFFERS))  # whoever had that one has asked for this
            for at in range(0, len(one), rows):
                yield one[at : at + rows], other[at : at + rows]


def _taker(array: ArrayFile, rows: int, opened: ExitStack) -> Taker:
    if array.lying is not None:
        return _into_buffers(array, array.lying, rows, opened)
    walk = array.blocks(rows)
    return lambda _: next(walk, _nothing())


def _into_buffers(array: ArrayFile, lying: Lying, rows: int, opened: ExitStack) -> Taker:
    fill = opened.enter_context(lying.kept_open())
    row = array.width * array.element.size
    size = min(rows, array.positions) * row
    buffers = [memoryview(mmap(-1, size)) for _ in range(BUFFERS)]  # begins on a page, so every number is aligned
    offsets = iter(range(0, array.positions * row, rows * row))

    def take(buffer: int) -> Block:
        offset = next(offsets, None)
        if offset is None:
            return _nothing()
        view = buffers[buffer][: min(size, array.positions * row - offset)]
        fill(lying.begin + offset, view)
        return numbers(view, array.element).reshape(-1, array.width)

    return take


def _nothing() -> Block:
    import numpy as np

    return np.empty((0, 1))
