"""One recorded array [..., d], walked through in blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError
from ln_audit.recording.dtypes import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import numpy as np

    from ln_audit.recording.dtypes import Element
    from ln_audit.recording.files import Fill, Read, RecordedFile

IN_MEMORY = 2**23  # bytes of rows that are gathered at once where they do not lie together
LONGEST_RUN = 2**20  # bytes of one strided read
MOST_CHANNELS = 2**20  # one row is held in memory several times over; the widest models have some 50,000
MOST_AXES = 32  # numpy's own limit before version 2
MOST_SMALL = 2**22  # elements of an array that is read whole: a gain or a bias


class Lying(NamedTuple):
    """Where an array's numbers lie one after another in C order: from byte `begin` on, of a file that can be kept open."""

    kept_open: Callable[[], AbstractContextManager[Fill]]
    begin: int


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A recorded array. `dtype` is numpy's name; `walk(rows)` gives at most `rows` rows at a time, in order."""

    label: str
    shape: tuple[int, ...]
    element: Element
    walk: Callable[[int], Iterator[np.ndarray[Any, Any]]]
    lying: Lying | None = None

    @property
    def dtype(self) -> str:
        """`float32`, `bfloat16`, …"""
        return self.element.name

    @property
    def width(self) -> int:
        """The last axis."""
        return self.shape[-1]

    @property
    def positions(self) -> int:
        """How many rows there are."""
        return prod(self.shape[:-1])

    def blocks(self, rows: int) -> Iterator[np.ndarray[Any, Any]]:
        """Blocks of at most `rows` rows, [n, width], native dtype, C order. Can be asked for any number of times."""
        for block in self.walk(max(1, rows)):
            yield block.reshape(-1, self.width)

    def small(self) -> np.ndarray[Any, Any]:
        """The whole array, for gains and biases. Raises `RecordingError` above 4 million elements."""
        import numpy as np

        if prod(self.shape) > MOST_SMALL:
            raise RecordingError(f"{self.label}: expected at most {MOST_SMALL:,} elements, found {list(self.shape)}")
        return np.concatenate([block.reshape(-1) for block in self.walk(MOST_SMALL)]).reshape(self.shape)


def usable(array: ArrayFile) -> ArrayFile:
    """The array, if it holds rows. Raises `RecordingError`: a recording without one position shows nothing."""
    shape, label = array.shape, array.label
    if not shape:
        raise RecordingError(f"{label}: shape: expected [..., d], found a single number")
    if len(shape) > MOST_AXES:
        raise RecordingError(f"{label}: shape: expected at most {MOST_AXES} axes, found {len(shape)}")
    if prod(shape) == 0:
        raise RecordingError(f"{label}: expected at least one position and one channel, found shape {list(shape)}")
    if shape[-1] > MOST_CHANNELS:
        raise RecordingError(f"{label}: shape: expected at most {MOST_CHANNELS:,} channels, found {list(shape)}")
    return array


def in_order(label: str, shape: tuple[int, ...], element: Element, file: RecordedFile, begin: int) -> ArrayFile:
    """Numbers of a file in C order from byte `begin` on."""
    return replace(by_range(label, shape, element, file.read, begin), lying=Lying(file.kept_open, begin))


def by_range(label: str, shape: tuple[int, ...], element: Element, read: Read, begin: int) -> ArrayFile:
    """Numbers in C order from byte `begin` on, read by range."""

    def walk(rows: int) -> Iterator[np.ndarray[Any, Any]]:
        row = shape[-1] * element.size
        end = begin + prod(shape) * element.size
        for at in range(begin, end, rows * row):
            yield numbers(read(at, min(at + rows * row, end)), element)

    return usable(ArrayFile(label, shape, element, walk))


def fortran_by_range(label: str, shape: tuple[int, ...], element: Element, read: Read, begin: int) -> ArrayFile:
    """Numbers in Fortran order from byte `begin` on: the first axis fastest, the channels of one row far apart.

    Up to 8 MB are read whole. Above, a slab of rows, 8 MB at most, is gathered with one read a channel; with several
    leading axes each read skips over the others' rows, so that the file is read once per index of those.
    """
    axes = [size for size in shape[:-1] if size != 1] or [1]
    whole = prod(shape) * element.size

    def walk(rows: int) -> Iterator[np.ndarray[Any, Any]]:
        if whole <= IN_MEMORY:
            every = numbers(read(begin, begin + whole), element)
            yield from in_pieces(every.reshape(shape, order="F").reshape(-1, shape[-1]), rows)
            return
        *outer, n = axes
        stride = prod(outer)
        step = max(1, min(n, IN_MEMORY // (shape[-1] * element.size), LONGEST_RUN // (stride * element.size)))
        for first in _offsets(outer):
            for at in range(0, n, step):
                taken = min(step, n - at)
                slab = _gather(read, element, begin, (first + stride * at, stride, taken, stride * n, shape[-1]))
                yield from in_pieces(slab, rows)

    return usable(ArrayFile(label, shape, element, walk))


def in_pieces(rows: np.ndarray[Any, Any], at_most: int) -> Iterator[np.ndarray[Any, Any]]:
    """[n, d] in pieces of at most `at_most` rows, each in C order."""
    import numpy as np

    for at in range(0, len(rows), at_most):
        yield np.ascontiguousarray(rows[at : at + at_most])


def _offsets(outer: list[int]) -> Iterator[int]:
    """The element where each index of the outer axes begins, in C order, in an array whose first axis is fastest."""
    if not outer:
        yield 0
        return
    *slower, size = outer
    for offset in _offsets(slower):
        for index in range(size):
            yield offset + index * prod(slower)


def _gather(read: Read, element: Element, begin: int, run: tuple[int, int, int, int, int]) -> np.ndarray[Any, Any]:
    """`taken` rows [taken, d]: for each channel a run of elements `stride` apart, channels `apart` elements apart."""
    import numpy as np

    first, stride, taken, apart, channels = run
    rows: np.ndarray[Any, Any] | None = None
    for channel in range(channels):
        at = begin + (first + apart * channel) * element.size
        column = numbers(read(at, at + (stride * (taken - 1) + 1) * element.size), element)[::stride]
        if rows is None:
            rows = np.empty((taken, channels), dtype=column.dtype)
        rows[:, channel] = column
    return np.empty((0, channels)) if rows is None else rows
