"""The key-value pairs of a GGUF header: what is short is kept, what is long is passed over.

Types and their numbers: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, `gguf_metadata_value_type`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from ln_audit.formats.gguf_cursor import Cursor

Value = int | float | bool | str | tuple[int | float | bool, ...] | None

MAX_KEYS = 65_536  # models have 20 to 60
MAX_KEY = 65_535  # bytes, the format's own limit
MAX_TEXT = 1_024  # bytes of a value that is kept: names and licences, not chat templates
MAX_NUMBERS = 1_024  # of an array that is kept: a number for each layer, not a score for each token
MAX_DEPTH = 4  # arrays of arrays are legal and nobody writes them; llama.cpp refuses any
ARRAY_STEPS = 16  # reading the head of an array inside an array takes as long as passing over so many strings
NUMBER_BYTES = 40  # that Python takes for a number in a tuple

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_BOOL, _STRING, _ARRAY = 7, 8, 9


def read_values(cursor: Cursor, count: int) -> dict[str, Value]:
    """The next `count` pairs by key; None stands for a value that was passed over. Raises `FormatError`."""
    if count > MAX_KEYS:
        raise UnsupportedError(f"{cursor.file}: key count: expected at most {MAX_KEYS:,}, found {count:,}")
    values: dict[str, Value] = {}
    for _ in range(count):
        key = _key(cursor)
        if key in values:
            raise FormatError(f"{cursor.file}: {shown(key)}: expected the key once, found it twice")
        values[key] = _value(cursor, cursor.number("I", f"the type of {shown(key)}"), shown(key))
    return values


def _key(cursor: Cursor) -> str:
    at, length = cursor.at, cursor.number("Q", "the length of a key")
    if not 1 <= length <= MAX_KEY:
        raise FormatError(
            f"{cursor.file}: header byte {at:,}: expected a key of 1 to {MAX_KEY:,} bytes, found a length of {length:,}"
        )
    return cursor.text(length, "a key")


def _value(cursor: Cursor, kind: int, what: str) -> Value:
    """A value of that type. A text that is no UTF-8 is only for show: its bytes are spelt out."""
    if kind == _STRING:
        length = cursor.number("Q", f"the length of {what}")
        if length <= MAX_TEXT:
            return cursor.text(length, what, errors="backslashreplace")
        cursor.skip(length, what)
        return None
    if kind == _ARRAY:
        return _array(cursor, what, depth=1)
    return _numbers(cursor, kind, 1, what)[0]


def _array(cursor: Cursor, what: str, depth: int) -> Value:
    """Short arrays of numbers are kept."""
    kind, count = cursor.numbers("IQ", f"the array {what}")
    if kind == _STRING:
        cursor.skip_strings(count, what)
    elif kind == _ARRAY:
        if depth == MAX_DEPTH:
            raise UnsupportedError(f"{cursor.file}: {what}: expected at most {MAX_DEPTH} levels of arrays, found more")
        cursor.walk(ARRAY_STEPS * count, what)
        for _ in range(count):
            _array(cursor, what, depth + 1)
    elif count <= MAX_NUMBERS:
        cursor.keep(NUMBER_BYTES * count)
        return _numbers(cursor, kind, count, what)
    else:
        cursor.skip(count * struct.calcsize(f"<{_letter(cursor, kind, what)}"), what)
    return None


def _numbers(cursor: Cursor, kind: int, count: int, what: str) -> tuple[int | float | bool, ...]:
    values = cursor.numbers(f"{count}{_letter(cursor, kind, what)}", what)
    if kind != _BOOL:
        return values
    for value in values:
        if value > 1:  # the format's own words: the model is invalid, or its reader has gone astray
            raise FormatError(f"{cursor.file}: {what}: expected a boolean, 0 or 1, found {value}")
    return tuple(value == 1 for value in values)


def _letter(cursor: Cursor, kind: int, what: str) -> str:
    if kind not in _NUMBERS:
        raise FormatError(f"{cursor.file}: {what}: expected a value type from 0 to 12, found {kind:,}")
    return _NUMBERS[kind]
