"""Write a recording whose length nobody knows beforehand: blocks go to disk as they come, whole or not at all.

safetensors begins with a header that holds every shape, so blocks wait in an unnamed file beside the recording and are put
in order when the last one has come. The operating system drops that file with the process, however it ends; the recording
itself gets its name only when it is complete. A reader never sees half of one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import struct
import tempfile
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ln_audit.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ITEM_SIZES = {"I64": 8, "F64": 8, "F32": 4, "F16": 2, "BF16": 2}
_GATHERED = 2**16  # bytes of one tensor that wait in memory, so that single tokens do not become single blocks
_COPIED = 2**20  # bytes that are copied at a time
_ALIGNMENT = 8  # as the reference writer pads its header, so that a mapped file gives aligned arrays


@dataclass(slots=True)
class _Growing:
    """One tensor: its dtype, the shape so far, and where its bytes wait. Its last `kept` axes never change."""

    dtype: str
    shape: tuple[int, ...]
    kept: int
    waiting: bytearray = field(default_factory=bytearray)
    blocks: array[int] = field(default_factory=lambda: array("Q"))  # offset, length, offset, length, … in the spool

    def grow(self, shape: tuple[int, ...]) -> None:
        """Take one more block's shape in: along the first axis where the others fit, as one list of rows otherwise."""
        if self.shape[1:] == shape[1:] and len(shape) > self.kept:
            self.shape = (self.shape[0] + shape[0], *shape[1:])
            return
        tail = shape[len(shape) - self.kept :]
        self.shape = (_count(self.shape, self.kept) + _count(shape, self.kept), *tail)


class RecordingWriter:
    """A recording under way. Raises `UsageError` where no file can be written, `RecordingError` when the disk is full."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.label = os.fspath(path)
        try:
            self._target = Path(path).resolve()
            _refuse_what_is_no_file(self._target)
            self._spool: IO[bytes] = tempfile.TemporaryFile(dir=self._target.parent)  # noqa: SIM115 - closed in discard
        except (OSError, ValueError, RuntimeError) as error:  # a NUL, a loop of links
            raise UsageError(f"{self.label}: expected a file that can be written, found: {_told(error)}") from error
        self._end = 0
        self._tensors: dict[str, _Growing] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors that have come so far."""
        return tuple(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """What a tensor's shape is so far."""
        return self._tensors[name].shape

    def dtype(self, name: str) -> str:
        """A tensor's dtype, as safetensors spells it."""
        return self._tensors[name].dtype

    def append(self, name: str, dtype: str, shape: tuple[int, ...], data: bytes | memoryview, *, kept: int = 1) -> None:
        """One more block of a tensor, C order, little-endian. `kept` axes at the end are those of every block.

        Raises `RecordingError` where dtype or these axes are not those of the blocks before.
        """
        found = self._tensors.get(name)
        if found is None:
            found = self._tensors[name] = _Growing(dtype, shape, kept)
        else:
            tail, own = shape[len(shape) - kept :], found.shape[len(found.shape) - kept :]
            if (dtype, tail) != (found.dtype, own):
                raise RecordingError(
                    f"{self.label}: {name}: expected {found.dtype} {[*own]} as in the pass before, found {dtype} {[*tail]}"
                )
            found.grow(shape)
        with self._as_fault():
            if len(data) + len(found.waiting) > _GATHERED:
                self._flush(found)
                self._write(found, data)
            else:
                found.waiting += data

    def drop(self, name: str) -> None:
        """Leave a tensor out after all."""
        self._tensors.pop(name, None)

    def finish(self, metadata: Mapping[str, str]) -> int:
        """Put everything in order under the final name, in place of what had it; returns the size in bytes."""
        draft = self._target.with_name(f".{self._target.name[:100]}.{os.getpid()}.part")
        ordered = sorted(
            self._tensors.items(), key=lambda item: -ITEM_SIZES[item[1].dtype]
        )  # aligned; else as they came
        try:
            with self._as_fault():
                with draft.open("wb") as file:
                    file.write(_header(ordered, metadata))
                    for _, tensor in ordered:
                        self._flush(tensor)
                        for piece in self._pieces(tensor):
                            file.write(piece)
                    size = file.tell()
                draft.replace(self._target)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            self.discard()
        return size

    def discard(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):
            self._spool.close()

    def _flush(self, tensor: _Growing) -> None:
        if tensor.waiting:
            self._write(tensor, bytes(tensor.waiting))
            tensor.waiting.clear()

    def _write(self, tensor: _Growing, data: bytes | memoryview) -> None:
        self._spool.seek(self._end)
        self._spool.write(data)
        tensor.blocks.extend((self._end, len(data)))
        self._end += len(data)

    def _pieces(self, tensor: _Growing) -> Iterator[bytes]:
        for at in range(0, len(tensor.blocks), 2):
            begin, left = tensor.blocks[at], tensor.blocks[at + 1]
            self._spool.seek(begin)
            while left:
                piece = self._spool.read(min(left, _COPIED))
                left -= len(piece)
                yield piece

    @contextlib.contextmanager
    def _as_fault(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordingError(f"{self.label}: expected to write the recording, found: {_told(error)}") from error


def _refuse_what_is_no_file(target: Path) -> None:
    if target.exists() and not target.is_file():
        raise OSError(errno.EISDIR, "a folder or a device")


def _header(tensors: list[tuple[str, _Growing]], metadata: Mapping[str, str]) -> bytes:
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, tensor in tensors:
        begin, end = end, end + _count(tensor.shape, 0) * ITEM_SIZES[tensor.dtype]
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    text += b" " * (-len(text) % _ALIGNMENT)
    return struct.pack("<Q", len(text)) + text


def _count(shape: tuple[int, ...], kept: int) -> int:
    """How many rows a shape has: the product of all axes but the last `kept`."""
    rows = 1
    for size in shape[: len(shape) - kept]:
        rows *= size
    return rows


def _told(error: Exception) -> str:
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
