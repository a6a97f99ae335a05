"""A position in a GGUF file that only moves forward, over a window of it that is read in growing pieces.

Headers carry whole tokenizers: hundreds of thousands of strings, several MB. What nobody keeps is skipped over: arrays of
numbers without reading them, arrays of strings length by length.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError

if TYPE_CHECKING:
    from typing import Any

    from ln_audit.core import Source

PREFETCH = 65_536  # a header without a tokenizer fits
MAX_WINDOW = 4_194_304  # each window is four times the last one up to this, unless it is known what will be wanted
MAX_HEADER = 256_000_000  # bytes; the longest tokenizers of 2026 have 30 million
MAX_KEPT = 16_000_000  # bytes of all names, texts and kept numbers together
MAX_WALKED = (
    8_000_000  # strings passed over, in all: half a second; the largest vocabularies have a million with merges
)

CUT_SHORT = "the file was cut short: download or copy it again; if it is a piece of one, join the pieces first"


class Cursor:
    """Numbers in the file's own byte order, texts, and ways to pass over what is not kept. Raises `FormatError`."""

    def __init__(self, source: Source, file: str) -> None:
        self._source = source
        self._window = source.read_prefix(file, PREFETCH)
        self._begin = 0  # where the window begins
        self._next_window = PREFETCH * 4
        self._kept = 0
        self._walked = 0
        self.file = file
        self.size = source.size(file)
        self.at = 0
        self.order = "<"  # struct's sign for the byte order

    @property
    def first(self) -> bytes:
        """The bytes of the current window, at first those of the file's beginning."""
        return self._window

    def take(self, count: int, what: str) -> bytes:
        """The next bytes; `what` they are is for the message."""
        self._reach(count, what)
        begin = self.at - self._begin
        self.at += count
        return self._window[begin : begin + count]

    def numbers(self, layout: str, what: str) -> tuple[Any, ...]:
        """The next numbers, as struct's letters say, without gaps."""
        form = self.order + layout
        return struct.unpack(form, self.take(struct.calcsize(form), what))

    def number(self, letter: str, what: str) -> Any:
        """The next number."""
        return self.numbers(letter, what)[0]

    def text(self, length: int, what: str, errors: str = "strict") -> str:
        """A string that is kept. Its length was bounded by the caller; the sum of all is bounded here."""
        self.keep(length)
        at = self.at
        raw = self.take(length, what)
        try:
            return raw.decode("utf-8", errors)
        except UnicodeDecodeError as cause:
            found = f"{raw[cause.start]:#04x}"
            raise FormatError(
                f"{self.file}: header byte {at + cause.start:,}: expected {what} in UTF-8, found {found}"
            ) from cause

    def skip(self, count: int, what: str) -> None:
        """Pass over bytes without reading those beyond the window."""
        self._check(count, what)
        self.at += count

    def keep(self, nbytes: int) -> None:
        """Count towards what is kept of the header."""
        self._kept += nbytes
        if self._kept > MAX_KEPT:
            raise UnsupportedError(
                f"{self.file}: header: expected at most {MAX_KEPT:,} bytes of names and values in this version, found more"
            )

    def walk(self, steps: int, what: str) -> None:
        """Count towards what is passed over one by one, before doing it."""
        self._walked += steps
        if self._walked > MAX_WALKED:
            raise UnsupportedError(
                f"{self.file}: {what}: expected at most {MAX_WALKED:,} strings in all in this version, found more"
            )

    def skip_strings(self, count: int, what: str) -> None:
        """Pass over strings, each a length of eight bytes and that many bytes."""
        self._check(8 * count, f"{what}: {count:,} strings")
        self.walk(count, what)
        length = struct.Struct(self.order + "Q").unpack_from
        begin, left = self.at, count
        while left:
            done = count - left
            self._reach(8, what, about=(self.at - begin) * left // done if done else 0)
            window, at, last = self._window, self.at - self._begin, len(self._window) - 8
            while left and at <= last:  # the only loop here that runs a million times
                at += 8 + length(window, at)[0]
                left -= 1
            self.skip(self._begin + at - self.at, what)

    def _reach(self, count: int, what: str, about: int = 0) -> None:
        """Move the window, unless it holds the next `count` bytes already; `about` so many will be wanted, if known."""
        self._check(count, what)
        if self.at + count <= self._begin + len(self._window):
            return
        length = min(about + PREFETCH, MAX_WINDOW) if about else self._next_window
        if not about:
            self._next_window = min(4 * self._next_window, MAX_WINDOW)
        end = min(self.size, self.at + max(count, length))
        self._window = self._source.read(self.file, [Range(self.at, end)])[0]
        self._begin = self.at

    def _check(self, count: int, what: str) -> None:
        if count > self.size - self.at:
            raise self._cut(count, what)
        if self.at + count > MAX_HEADER:
            raise UnsupportedError(
                f"{self.file}: header: expected at most {MAX_HEADER:,} bytes in this version, found {what} beyond them"
            )

    def _cut(self, count: int, what: str) -> FormatError:
        left = self.size - self.at
        return FormatError(
            f"{self.file}: header byte {self.at:,}: expected {count:,} bytes for {what}, found {left:,} to the file's end",
            hint=CUT_SHORT,
        )
