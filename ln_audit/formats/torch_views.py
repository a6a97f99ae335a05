"""Storages and the strided views of them that PyTorch's tensors are.

A tensor of shape [n0, n1, …] has element (i0, i1, …) at `offset + Σ i·stride` of its storage; several tensors may share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.pickle_stack import Known, described
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from ln_audit.formats.pickle_stack import Place

MAX_RANK = 64  # PyTorch's
MAX_SIZE = 2**63 - 1  # PyTorch's sizes, strides and offsets are 64-bit integers with a sign
MAX_APART = 2**26  # bytes that are read for a view whose elements lie apart, or made of one that repeats its elements


@dataclass(frozen=True, slots=True, eq=False)
class Kind(Known):
    """A dtype, or the type of a storage: a name of `dtypes.DTYPES` or PyTorch's own, and the bytes of one element."""

    dtype: str = "U8"
    width: int = 1


@dataclass(frozen=True, slots=True)
class Storage:
    """A run of bytes in the file. `begin` counts from where the record `key` begins (old files know storages in storages)."""

    key: str
    dtype: str
    width: int
    nbytes: int
    begin: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """One tensor; offset and strides count elements of `width` bytes."""

    storage: Storage
    dtype: str
    width: int
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def range(self) -> Range:
        """From the first to the last byte that the view needs, counted from the beginning of its record."""
        first = self.storage.begin + self.offset * self.width
        return Range(first, first + self._span(self.elements) * self.width)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in their order without a gap."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if size != 1 and stride != expected:
                return self.elements == 0
            expected *= size
        return True

    def info(self, name: str) -> TensorInfo:
        """What a header would say of it."""
        return TensorInfo(name, self.dtype, self.shape, self.elements * self.width)

    def _span(self, elements: int) -> int:
        """Elements from the first to the last, inclusive."""
        if not elements:
            return 0
        return 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.stride, strict=True))

    def check(self, where: Place) -> View:
        """Itself, if it lies inside its storage. Raises `FormatError`."""
        elements = self.elements
        end = (self.offset + self._span(elements)) * self.width
        if elements * self.width > MAX_SIZE or end > self.storage.nbytes:
            raise FormatError(
                f"{where}: storage {shown(self.storage.key)}: expected at least {end:,} bytes for {self.dtype} "
                f"{shown(list(self.shape))}, found {self.storage.nbytes:,}"
            )
        return self


def sizes(value: object, where: Place, what: str) -> tuple[int, ...]:
    """A tuple or list of sizes of a tensor. Raises `FormatError`."""
    if type(value) not in {tuple, list} or not isinstance(value, tuple | list):
        raise FormatError(f"{where}: {what}: expected a tuple of integers, found {described(value)}")
    if len(value) > MAX_RANK:
        raise FormatError(f"{where}: {what}: expected at most {MAX_RANK} dimensions, found {len(value):,}")
    return tuple([size(item, where, what) for item in value])


def size(value: object, where: Place, what: str) -> int:
    """A size, stride, offset or count: no bool, not negative, 63 bits. Raises `FormatError`."""
    if type(value) is not int or not 0 <= value <= MAX_SIZE:
        raise FormatError(f"{where}: {what}: expected an integer from 0 to 2^63 - 1, found {described(value)}")
    return value


Fetch = Callable[[Sequence[tuple[Storage, Range]]], list[bytes]]  # bytes of records, counted from where each begins


class Saved(NamedTuple):
    """What a file of PyTorch holds: the object that was saved, its tensors as `View`, and where their storages lie.

    `fetch` reads ranges of records; `place` says at which byte of the file a record begins, or raises `UnsupportedError`.
    """

    root: object
    fetch: Fetch
    place: Callable[[Storage], int]
    big_endian: bool = False


def wanted(view: View, name: str) -> Range:
    """The bytes to ask for. Raises `UnsupportedError` where a view would make much of little, or little of much."""
    nbytes, span = view.elements * view.width, view.range
    length = span.end - span.begin
    if nbytes > max(length, MAX_APART) or length > max(2 * nbytes, MAX_APART):
        raise UnsupportedError(
            f"{shown(name)}: expected elements that lie together, found {nbytes:,} bytes of a tensor in {length:,} of the file",
            hint="save a contiguous copy of it",
        )
    return span


def stored(view: View, data: bytes, *, big_endian: bool = False) -> Stored:
    """The view's elements in their order, little-endian, of the bytes of its range."""
    if not view.contiguous:
        data = _gathered(view, data)
    if big_endian:
        data = _swapped(data, view.width // 2 if view.dtype in {"C32", "C64", "C128"} else view.width)
    return Stored(view.dtype, view.shape, data)


def _gathered(view: View, data: bytes) -> bytes:
    import numpy as np
    from numpy.lib.stride_tricks import as_strided

    # Dimensions of size 1 go: NumPy 1 knows no more than 32, and so many of two or more elements each fit in no file.
    steps = [(n, stride * view.width) for n, stride in zip(view.shape, view.stride, strict=True) if n != 1]
    flat = np.frombuffer(data, np.dtype((np.void, view.width)))
    return as_strided(flat, [n for n, _ in steps], [step for _, step in steps], writeable=False).tobytes()


def _swapped(data: bytes, width: int) -> bytes:
    import numpy as np

    return np.frombuffer(data, f">u{width}").astype(f"<u{width}").tobytes() if width > 1 else data
