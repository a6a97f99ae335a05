"""The bytes of a pickle, read forward once, and what its opcodes write behind themselves: numbers, strings, names.

Every length is bounded before anything of that length is made. Opcodes and their arguments: CPython's `pickletools.py`.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from ln_audit.errors import FormatError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_PICKLE = 24_000_000  # bytes; 57,000 tensors with names of 100 letters need 16 million
MAX_STRING = 4_000_000  # bytes of one string, as for safetensors' metadata
MAX_LINE = 4_096  # bytes of a number or a global's name in protocol 0
MAX_LINES = 500_000  # they take twice the time of other opcodes; tensors are not saved in protocol 0
MAX_LONG = (
    1_024  # bytes of one integer: PyTorch's magic number has 10; Python itself converts no more than 4,300 digits
)

_INTEGER = re.compile(rb"[+-]?\d{1,40}")
_LONG = re.compile(rb"([+-]?\d{1,4000})L?")
_REAL = re.compile(rb"[+-]?(?:\d{1,400}\.?\d{0,400}(?:[eE][+-]?\d{1,5})?|inf|nan)")


class Tape:
    """A position in the bytes that only moves forward. `more(length)` brings what follows them, b"" at the end."""

    __slots__ = ("at", "data", "file", "lines", "more", "part")

    def __init__(self, data: bytes, file: str, part: str = "", more: Callable[[int], bytes] | None = None) -> None:
        self.data = data
        self.at = self.lines = 0
        self.file = file
        self.part = part  # in messages: `data.pkl `, or nothing where the file is the pickle
        self.more = more

    def __str__(self) -> str:
        """The position, as a message begins."""
        return f"{self.file}: {self.part}byte {self.at:,}"

    def byte(self) -> int:
        """The next byte, an opcode or a small number."""
        at = self.at
        if at >= len(self.data):
            self._fetch(1)
        self.at = at + 1
        return self.data[at]

    def take(self, size: int) -> bytes:
        """The next `size` bytes, exactly. Raises `FormatError`."""
        end = self.at + size
        if end > len(self.data):
            self._fetch(size)
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self, size: int) -> int:
        """A little-endian unsigned integer of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def line(self, at_most: int = MAX_LINE) -> bytes:
        """The bytes up to the next newline, without it. Raises `FormatError`."""
        self.lines += 1
        if self.lines > MAX_LINES:
            raise UnsupportedError(f"{self.file}: {self.part}expected at most {MAX_LINES:,} lines of text, found more")
        end = self.data.find(b"\n", self.at, self.at + at_most + 1)
        while end < 0 and len(self.data) <= self.at + at_most and self._extend():
            end = self.data.find(b"\n", self.at, self.at + at_most + 1)
        if end < 0:
            raise self.fault("a line that ends", f"none within {min(at_most, len(self.data) - self.at):,} bytes")
        line = self.data[self.at : end]
        self.at = end + 1
        return line

    def text(self, size: int) -> str:
        """A string of `size` bytes of UTF-8. Raises `FormatError`."""
        begin = self.at
        return self._utf8(self._bounded(size), begin)

    def octets(self, size: int) -> bytes:
        """A byte string of `size` bytes. Raises `FormatError`."""
        return self._bounded(size)

    def long(self, size: int) -> int:
        """A little-endian two's-complement integer of `size` bytes. Raises `FormatError`."""
        if size > MAX_LONG:
            raise self.fault(f"an integer of at most {MAX_LONG:,} bytes", f"{size:,}")
        return int.from_bytes(self.take(size), "little", signed=True)

    def fault(self, expected: str, found: str) -> FormatError:
        """The error at this position, to be raised."""
        return FormatError(f"{self}: expected {expected}, found {found}")

    def _utf8(self, raw: bytes, begin: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as cause:
            self.at = begin
            raise self.fault("a string in UTF-8", f"{raw[cause.start]:#04x} in it") from cause

    def _bounded(self, size: int) -> bytes:
        if size > MAX_STRING:
            raise UnsupportedError(f"{self}: expected at most {MAX_STRING:,} bytes in a string, found {size:,}")
        return self.take(size)

    def _fetch(self, size: int) -> None:
        while self.at + size > len(self.data):
            if not self._extend():
                left = len(self.data) - self.at
                raise self.fault(f"{size:,} more bytes" if size > 1 else "one more byte", f"the end after {left:,}")

    def _extend(self) -> bool:
        """Whether there was more."""
        if self.more is None:
            return False
        if len(self.data) >= MAX_PICKLE:
            raise UnsupportedError(
                f"{self.file}: {self.part}expected at most {MAX_PICKLE:,} bytes of pickle, found more",
                hint="save only the state dict, or save it in shards or as safetensors",
            )
        piece = self.more(len(self.data))
        self.data += piece
        return bool(piece)


def _matched(tape: Tape, pattern: re.Pattern[bytes], expected: str) -> bytes:
    begin, line = tape.at, tape.line()
    match = pattern.fullmatch(line)
    if match is None:
        raise _odd(tape, begin, expected, line)
    return match[match.lastindex or 0]


def _odd(tape: Tape, begin: int, expected: str, line: bytes) -> FormatError:
    tape.at = begin
    return tape.fault(expected, ascii(line[:40].decode("latin-1")))


def _int(tape: Tape) -> int | bool:
    """INT: a decimal line; `00` and `01` are protocol 0's False and True."""
    digits = _matched(tape, _INTEGER, "an integer")
    return digits == b"01" if digits in {b"00", b"01"} else int(digits)


def _string(tape: Tape) -> str | bytes:
    """STRING: Python 2's `repr` of a string; what needs its escapes is no name of a tensor."""
    begin, line = tape.at, tape.line(MAX_STRING)
    if len(line) < 2 or line[:1] not in {b"'", b'"'} or line[-1:] != line[:1] or b"\\" in line:
        raise _odd(tape, begin, "a quoted string without escapes", line)
    return _old(line[1:-1])


def _unicode(tape: Tape) -> str:
    r"""UNICODE: a line with `\uXXXX` for what Latin-1 has not."""
    begin, line = tape.at, tape.line(MAX_STRING)
    try:
        text = line.decode("raw_unicode_escape")
        text.encode()  # a lone surrogate is a string to Python and to nobody else
    except ValueError as cause:
        raise _odd(tape, begin, "a string with whole escapes", line) from cause
    return text


def _old(raw: bytes) -> str | bytes:
    """A string of Python 2: text where it is UTF-8, as PyTorch assumes, else the bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


# The opcodes that do nothing but put a value on the stack, by their byte.
VALUES: Mapping[int, Callable[[Tape], object]] = {
    ord("N"): lambda _: None,
    0x88: lambda _: True,
    0x89: lambda _: False,
    ord(")"): lambda _: (),
    ord("K"): Tape.byte,
    ord("M"): lambda tape: tape.number(2),
    ord("J"): lambda tape: int.from_bytes(tape.take(4), "little", signed=True),
    ord("I"): _int,
    ord("L"): lambda tape: int(_matched(tape, _LONG, "an integer")),
    0x8A: lambda tape: tape.long(tape.byte()),
    0x8B: lambda tape: tape.long(tape.number(4)),
    ord("G"): lambda tape: struct.unpack(">d", tape.take(8))[0],
    ord("F"): lambda tape: float(_matched(tape, _REAL, "a number")),
    ord("S"): _string,
    ord("U"): lambda tape: _old(tape.octets(tape.byte())),
    ord("T"): lambda tape: _old(tape.octets(tape.number(4))),
    ord("V"): _unicode,
    0x8C: lambda tape: tape.text(tape.byte()),
    ord("X"): lambda tape: tape.text(tape.number(4)),
    0x8D: lambda tape: tape.text(tape.number(8)),
    ord("C"): lambda tape: tape.octets(tape.byte()),
    ord("B"): lambda tape: tape.octets(tape.number(4)),
    0x8E: lambda tape: tape.octets(tape.number(8)),
    0x96: lambda tape: tape.octets(tape.number(8)),
}
