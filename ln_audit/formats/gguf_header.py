"""The header of a GGUF file: version, byte order, key-value pairs, and the table of tensors.

Our own reader: gguf.GGUFReader maps the file, loops for ever on some files of 49 bytes and checks little. What llama.cpp
refuses is refused here, with three exceptions: tensors may lie in any order and with gaps between them, names may be
longer than 63 bytes, and arrays may hold arrays.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; llama.cpp: `ggml/src/gguf.cpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from ln_audit.core import Range, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors
from ln_audit.formats.gguf_cursor import CUT_SHORT, Cursor
from ln_audit.formats.gguf_types import REMOVED, TYPES
from ln_audit.formats.gguf_values import read_values
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Source
    from ln_audit.formats.gguf_types import GgmlType
    from ln_audit.formats.gguf_values import Value

MAGIC = b"GGUF"  # in either byte order
VERSIONS = (2, 3)
MAX_TENSORS = 65_536  # experts are stacked: models have hundreds
MAX_NAME = 1_024  # bytes; llama.cpp takes 63, its relatives for images more
MAX_RANK = 4  # ggml's GGML_MAX_DIMS
MAX_ELEMENTS = 2**60 - 1  # NumPy counts bytes in int64, also those of an empty [0, 2^61], and float64 has eight
ALIGNMENT = "general.alignment"
DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor of the table: the usual shape (GGUF writes it in reverse), and its bytes of the file."""

    type: GgmlType
    shape: tuple[int, ...]
    range: Range

    def info(self, name: str) -> TensorInfo:
        """The same for those who do not care where it lies: logical elements, stored bytes."""
        return TensorInfo(name, self.type.name, self.shape, self.range.end - self.range.begin)


@dataclass(frozen=True, slots=True)
class Header:
    """What a file's header says. A key with the value None was there, but its value is too long to be kept."""

    file: str
    size: int
    version: int
    byte_order: Literal["little", "big"]
    values: Mapping[str, Value]
    tensors: Mapping[str, Entry]


def read_header(source: Source, file: str) -> Header:
    """One file's header, checked against the file's size. Raises `FormatError` for all that no loader should take."""
    cursor = Cursor(source, file)
    version = _version(cursor)
    tensor_count, key_count = cursor.numbers("QQ", "the counts of tensors and keys")
    values = read_values(cursor, key_count)
    alignment = _alignment(values, file)
    table = _table(cursor, tensor_count)
    data_start = -(-cursor.at // alignment) * alignment
    tensors = {name: _placed(cursor, name, row, alignment, data_start) for name, row in table.items()}
    _check_ranges(cursor, tensors, alignment)
    order: Literal["little", "big"] = "little" if cursor.order == "<" else "big"
    return Header(file, cursor.size, version, order, MappingProxyType(values), MappingProxyType(tensors))


def _version(cursor: Cursor) -> int:
    """The version; sets the cursor's byte order, which only a small number in the version's place gives away."""
    if not cursor.first.startswith(MAGIC):
        impostors.refuse(cursor.file, cursor.first, cursor.size, "a GGUF file")
        raise FormatError(f"{cursor.file}: expected a file that begins with GGUF, found {shown(cursor.first[:4])}")
    raw = cursor.take(8, "the magic number and the version")[4:]
    little, big = int.from_bytes(raw, "little"), int.from_bytes(raw, "big")
    cursor.order, version = ("<", little) if little & 0xFFFF else (">", big)
    if version not in VERSIONS:
        hint = "convert the model again; llama.cpp reads no version 1 either" if version == 1 else ""
        raise UnsupportedError(f"{cursor.file}: GGUF version: expected 2 or 3, found {version:,}", hint=hint)
    return version


def _alignment(values: Mapping[str, Value], file: str) -> int:
    value = values.get(ALIGNMENT, DEFAULT_ALIGNMENT)
    if type(value) is not int or value < 1 or value & (value - 1):
        raise FormatError(f"{file}: {ALIGNMENT}: expected a power of two, found {shown(value)}")
    return value


@dataclass(frozen=True, slots=True)
class _Row:
    """One tensor as the table has it; `offset` counts from where the data begin."""

    type: GgmlType
    shape: tuple[int, ...]
    offset: int


def _table(cursor: Cursor, count: int) -> dict[str, _Row]:
    if count > MAX_TENSORS:
        raise UnsupportedError(f"{cursor.file}: tensor count: expected at most {MAX_TENSORS:,}, found {count:,}")
    table: dict[str, _Row] = {}
    for _ in range(count):
        at, length = cursor.at, cursor.number("Q", "the length of a tensor's name")
        if not 1 <= length <= MAX_NAME:
            raise FormatError(
                f"{cursor.file}: header byte {at:,}: expected a tensor name of 1 to {MAX_NAME:,} bytes, "
                f"found a length of {length:,}"
            )
        name = cursor.text(length, "a tensor's name")
        if name in table:
            raise FormatError(f"{cursor.file}: {shown(name)}: expected one tensor of that name, found two")
        table[name] = _row(cursor, shown(name))
    return table


def _row(cursor: Cursor, what: str) -> _Row:
    rank = cursor.number("I", f"the rank of {what}")
    if rank > MAX_RANK:
        raise FormatError(f"{cursor.file}: {what}: expected at most {MAX_RANK} dimensions, found {rank:,}")
    *sizes, kind, offset = cursor.numbers(f"{rank}QIQ", f"shape, type and offset of {what}")
    if kind not in TYPES:
        found = f"{kind:,} ({REMOVED[kind]}, which llama.cpp reads no more)" if kind in REMOVED else f"{kind:,}"
        raise UnsupportedError(f"{cursor.file}: {what}: expected a ggml type of this version, found {found}")
    return _Row(TYPES[kind], tuple(reversed(sizes)), offset)


def _placed(cursor: Cursor, name: str, row: _Row, alignment: int, data_start: int) -> Entry:
    """The tensor with its bytes of the file; they may yet lie outside of it."""
    where = f"{cursor.file}: {shown(name)}"
    if prod(max(size, 1) for size in row.shape) > MAX_ELEMENTS:
        raise FormatError(f"{where}: shape: expected fewer than 2^60 elements, found {list(row.shape)}")
    width = row.shape[-1] if row.shape else 1
    if width % row.type.block:
        raise FormatError(
            f"{where}: {row.type.name}: expected rows of a multiple of {row.type.block} elements, found {list(row.shape)}"
        )
    if row.offset % alignment:
        raise FormatError(f"{where}: offset: expected a multiple of {alignment:,}, found {row.offset:,}")
    begin = data_start + row.offset
    return Entry(row.type, row.shape, Range(begin, begin + prod(row.shape) // row.type.block * row.type.nbytes))


def _check_ranges(cursor: Cursor, tensors: Mapping[str, Entry], alignment: int) -> None:
    """No byte belongs to two tensors, and the file ends where the last one does or at most with its padding."""
    file, reached, last = cursor.file, cursor.at, "the header"
    for name, entry in sorted(tensors.items(), key=lambda item: item[1].range):
        begin, end = entry.range
        if begin < reached and begin < end:
            raise FormatError(
                f"{file}: {shown(name)}: expected data from byte {reached:,} on where {last} ends, "
                f"found an overlap: {begin:,}"
            )
        if end > cursor.size:
            raise FormatError(
                f"{file}: {shown(name)}: expected bytes {begin:,} to {end:,}, found a file of {cursor.size:,}",
                hint=CUT_SHORT,
            )
        if end > reached:
            reached, last = end, shown(name)
    padded = -(-reached // alignment) * alignment
    if cursor.size > padded:
        raise FormatError(
            f"{file}: size: expected at most {padded:,} bytes as its header says, found {cursor.size:,}",
            hint="bytes were appended that belong to no tensor",
        )
