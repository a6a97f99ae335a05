"""Protocol buffers as they lie in a file, walked field by field: what is not asked for is stepped over, never loaded.

Encoding: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VARINT, I64, LEN, I32 = 0, 1, 2, 5  # wire types; the other two are groups, which nobody writes any more
SHORT = 4_096  # bytes read at first, and behind something that was stepped over
CHUNK = 1_048_576  # bytes read at once where a walk goes on and on: few requests for a graph of some megabytes
LONGEST_VARINT = 10  # bytes that hold 64 bits
_LENGTHS = {VARINT: 0, I64: 8, I32: 4}  # of the payload, where the wire type alone says it


class Field(NamedTuple):
    """One field: its payload lies at `begin` to `end`, that of a varint before `end`; `value` is a number's, else the length."""

    number: int
    wire: int
    begin: int
    end: int
    value: int


class Window:
    """Bytes of a file by range, one chunk of them at hand. `label` is the file as messages call it."""

    def __init__(self, read: Callable[[int, int], bytes], size: int, label: str) -> None:
        self.size = size
        self.label = label
        self._read = read
        self._chunk = b""
        self._at = 0
        self._ahead = SHORT

    def bytes(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`, which lie inside the file."""
        reached = self._at + len(self._chunk)
        if begin < self._at or end > reached:
            self._ahead = min(4 * self._ahead, CHUNK) if reached - SHORT <= begin <= reached + SHORT else SHORT
            self._chunk = self._read(begin, min(self.size, max(end, begin + self._ahead)))
            self._at = begin
        return self._chunk[begin - self._at : end - self._at]


def fields(window: Window, begin: int, end: int) -> Iterator[Field]:
    """The fields of the message at `begin` to `end` of a file. Raises `FormatError` where they do not fill it."""
    if end - begin <= SHORT:
        yield from _walk(window.bytes(begin, end), begin, window.label)
        return
    at = begin
    while at < end:
        head = window.bytes(at, min(at + 2 * LONGEST_VARINT + 1, end))  # all that says where a field ends
        field = _field(head, 0, at, end, window.label)
        if field.wire in {I32, I64}:
            field = field._replace(value=int.from_bytes(window.bytes(field.begin, field.end), "little"))
        yield field
        at = field.end


def message(data: bytes, label: str) -> Iterator[Field]:
    """The fields of a message that is already here; positions count from its beginning. Raises `FormatError`."""
    return _walk(data, 0, label)


def _walk(data: bytes, base: int, label: str) -> Iterator[Field]:
    at, end = 0, base + len(data)
    while at < len(data):
        field = _field(data, at, base, end, label)
        at = field.end - base
        if field.wire in {I32, I64}:
            field = field._replace(value=int.from_bytes(data[field.begin - base : at], "little"))
        yield field


def varint(data: bytes, at: int, label: str) -> tuple[int, int]:
    """An unsigned number of up to 64 bits at `at`, and where it ends. Raises `FormatError`."""
    value = shift = 0
    for position in range(at, min(at + LONGEST_VARINT, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value < 2**64:
            return value, position + 1
        shift += 7
    raise FormatError(f"{label}: byte {at:,}: expected a varint of at most 64 bits, found no end of it")


def signed(value: int) -> int:
    """A varint as the int64 (or int32, or enum) that it was."""
    return value - 2**64 if value >= 2**63 else value


def _field(data: bytes, at: int, base: int, end: int, label: str) -> Field:
    """The field at `at`; `base` is what positions of `data` are counted from. Written for speed: graphs have a million."""
    start = at
    tag = data[at]
    if tag < 0x80:
        at += 1
    else:
        tag, at = varint(data, at, label)
    wire = tag & 7
    value = 0
    if wire in {VARINT, LEN}:
        if at < len(data) and data[at] < 0x80:
            value = data[at]
            at += 1
        else:
            value, at = varint(data, at, label)
    length = value if wire == LEN else _LENGTHS.get(wire, -1)
    begin = base + at
    if not 8 <= tag < 2**32 or length < 0:
        raise FormatError(
            f"{label}: byte {base + start:,}: expected a protobuf field, found number {tag >> 3} of wire type {wire}"
        )
    if begin + length > end:
        raise FormatError(
            f"{label}: byte {base + start:,}: expected field {tag >> 3} to end by byte {end:,}, "
            f"found it goes on to {begin + length:,}"
        )
    return Field(tag >> 3, wire, begin, begin + length, value)
