"""JSON files beside the weights (config.json, the shard index), read with every length bounded first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from ln_audit.core import Source

MAX_CONTAINERS = 100_000  # objects and arrays: a parser makes up to 72 bytes of the two that `[]` has
MAX_COMMAS = 262_144  # members and elements: up to 300 bytes each; the longest shard index of 2026 has 210,000


def read_object(source: Source, file: str, *, at_most: int, what: str) -> list[tuple[str, Any]]:
    """The members of the JSON object in `file`, in order, repeated names included. Raises `FormatError`."""
    data = source.read_prefix(file, at_most + 1)
    return parse_object(data, file, size=source.size(file), at_most=at_most, what=what)


def parse_object(data: bytes, file: str, *, size: int, at_most: int, what: str) -> list[tuple[str, Any]]:
    """The same of bytes already read; objects further inside are `Members` too. Raises `FormatError`."""
    found = impostors.identify(data, size)
    if found is not None and "JSON" not in found.what:
        raise FormatError(f"{file}: expected {what}, found {found.what}", hint=found.hint)
    if size > at_most:
        raise UnsupportedError(f"{file}: size: expected at most {at_most:,} bytes, found {size:,}")
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS:
        raise UnsupportedError(f"{file}: expected at most {MAX_CONTAINERS:,} objects and arrays, found more")
    if data.count(b",") > MAX_COMMAS:
        raise UnsupportedError(f"{file}: expected at most {MAX_COMMAS:,} members and elements, found more")
    try:
        value = json.loads(data.decode(), object_pairs_hook=Members)
    except UnicodeDecodeError as cause:
        raise FormatError(f"{file}: byte {cause.start:,}: expected UTF-8, found {data[cause.start]:#04x}") from cause
    except json.JSONDecodeError as cause:
        problem = cause.msg[:1].lower() + cause.msg[1:]
        raise FormatError(
            f"{file}: line {cause.lineno} column {cause.colno}: expected JSON, found: {problem}"
        ) from cause
    except RecursionError as cause:
        raise FormatError(f"{file}: expected JSON, found it nested too deeply") from cause
    except ValueError as cause:  # Python converts no integer of more than 4,300 digits
        raise FormatError(f"{file}: expected JSON, found a number too long to read") from cause
    if not isinstance(value, Members):
        raise FormatError(f"{file}: expected {what}, a JSON object, found {shown(value)}")
    return value


class Members(list[tuple[str, Any]]):
    """A JSON object as its name-value pairs: what a dict would forget, a name written twice, can still be seen."""

    __slots__ = ()
