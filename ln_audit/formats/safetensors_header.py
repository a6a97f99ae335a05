"""The JSON of a safetensors header, read piece by piece, so that memory is bounded by what is kept.

A general JSON parser makes 400 MB of 20 MB of `[[],[],…`. A header has one possible shape, so each piece is cut out of
the bytes first and only then parsed: names, metadata strings, and one flat object per tensor.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.core import TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES, misspelt
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TENSORS = 131_072  # also of metadata pairs; models of 90,000 and more tensors come in 60 and more shards
MAX_RANK = 64  # NumPy's and PyTorch's
MAX_SIZES = 8 * MAX_TENSORS  # all dimensions together: a header of nothing but shapes would take eight times its length
MAX_STRING = 4_000_000  # bytes of one name or metadata value; training logs of a few MB are found there
MAX_U64 = 2**64 - 1
METADATA = "__metadata__"
FIELDS = ("dtype", "shape", "data_offsets")

_WS = rb"[ \t\r\n]*+"
_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrtu])*+"'
_OPEN = re.compile(_WS + rb"\{" + _WS)
_CLOSE = re.compile(rb"\}" + _WS)
_COMMA = re.compile(rb"," + _WS)
_NAME = re.compile(rb"(" + _STRING + rb")" + _WS + rb":" + _WS)
_TEXT = re.compile(rb"(" + _STRING + rb")" + _WS)
# One tensor: no nested object, no escape, no minus sign (`-0` is no size, and Python would read it as 0). 64 kB is far
# more than any tensor needs and bounds what a parser can make of one piece.
_ENTRY = re.compile(rb"(\{[^{}\\\-]{0,65536}+\})" + _WS)


class Entry(NamedTuple):
    """One tensor of a header: `begin` and `end` are bytes of the data segment, as written in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    def info(self, name: str) -> TensorInfo:
        """The same for those who do not care where it lies."""
        return TensorInfo(name, self.dtype, self.shape, self.end - self.begin)


def parse_header(header: bytes, file: str) -> tuple[dict[str, Entry], dict[str, str]]:
    """Tensors and metadata of a header, each entry checked by itself. Raises `FormatError` with position or tensor."""
    tensors: dict[str, Entry] = {}
    metadata: dict[str, str] | None = None
    sizes = 0
    walk = _Walk(header, file)
    for name in walk.names():
        if name == METADATA:
            if metadata is not None:
                raise FormatError(f"{file}: {METADATA}: expected one, found two")
            metadata = walk.strings()
        elif name in tensors:
            raise FormatError(f"{file}: {shown(name)}: expected one tensor of that name, found two")
        else:
            tensors[name] = _entry(walk.take(_ENTRY, f"an object for {shown(name)}"), f"{file}: {shown(name)}")
            sizes += len(tensors[name].shape)
            if sizes > MAX_SIZES:
                raise UnsupportedError(
                    f"{file}: header: expected at most {MAX_SIZES:,} dimensions in this version, found more"
                )
    walk.end()
    return tensors, metadata or {}


class _Walk:
    """A position in the header that only moves forward over JSON's grammar."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        self.at = 0

    def names(self) -> Iterator[str]:
        """The names of the object that begins here; whoever asks for the next one has taken the value of the last."""
        self.take(_OPEN, "an object")
        count = 0
        while not self.skip(_CLOSE):
            if count:
                self.take(_COMMA, "`,` or `}`")
            count += 1
            if count > MAX_TENSORS + 1:  # one more for the metadata
                raise UnsupportedError(
                    f"{self.file}: header: expected at most {MAX_TENSORS:,} names in this version, found more"
                )
            yield self.text(_NAME, "a name in quotes and `:`")

    def strings(self) -> dict[str, str]:
        """An object of strings."""
        found: dict[str, str] = {}
        for key in self.names():
            value = self.text(_TEXT, f"a string for {METADATA} {shown(key)}")
            if key in found:
                raise FormatError(f"{self.file}: {METADATA}: {shown(key)}: expected one value, found two")
            found[key] = value
        return found

    def text(self, pattern: re.Pattern[bytes], expected: str) -> str:
        """A string, decoded."""
        at = self.at
        raw = self.take(pattern, expected)
        if len(raw) > MAX_STRING:
            raise UnsupportedError(
                f"{self.file}: header byte {at:,}: expected at most {MAX_STRING:,} bytes, found {len(raw):,}"
            )
        try:
            value = json.loads(raw.decode()) if b"\\" in raw else raw[1:-1].decode()
            value.encode()  # a lone surrogate (`\ud800`) is a string to Python and to nobody else
        except ValueError as cause:
            raise self.fault("a string in UTF-8", at) from cause
        return str(value)

    def take(self, pattern: re.Pattern[bytes], expected: str) -> bytes:
        """The pattern's first group. Raises `FormatError` where it does not match."""
        match = pattern.match(self.data, self.at)
        if match is None:
            raise self.fault(expected, self.at)
        self.at = match.end()
        return match[1] if match.lastindex else b""

    def skip(self, pattern: re.Pattern[bytes]) -> bool:
        match = pattern.match(self.data, self.at)
        self.at = match.end() if match else self.at
        return match is not None

    def end(self) -> None:
        """Nothing but white space was left. Raises `FormatError`."""
        if self.at != len(self.data):
            raise self.fault("the header's end", self.at)

    def fault(self, expected: str, at: int) -> FormatError:
        piece = self.data[at : at + 24]
        found = ascii(piece.decode("utf-8", "replace")) if piece else "the header's end"
        return FormatError(f"{self.file}: header byte {at:,}: expected {expected}, found {found}")


def _entry(raw: bytes, where: str) -> Entry:
    """One tensor's object: `{"dtype":"F32","shape":[768],"data_offsets":[0,3072]}`, in any order."""
    try:
        # decoded here: json would take a second byte of 0 for UTF-16
        fields = json.loads(raw.decode(), object_pairs_hook=list, parse_constant=float)
    except (ValueError, RecursionError) as cause:  # not JSON, not UTF-8, numbers of 5,000 digits, `[[[[…`
        raise FormatError(f"{where}: expected a JSON object, found {shown(raw.decode('utf-8', 'replace'))}") from cause
    found = dict(fields)
    if len(found) != len(fields):
        raise FormatError(f"{where}: expected each key once, found {[key for key, _ in fields]}")
    for key in FIELDS:
        if key not in found:
            raise FormatError(f"{where}: expected {', '.join(FIELDS)}, found no {key}")
    for key in found.keys() - set(FIELDS):
        if not _plain(found[key]):  # the reference reads over unknown keys, but not over what is no JSON to it
            raise FormatError(f"{where}: {shown(key)}: expected a plain value, found {shown(found[key])}")
    return _checked(found["dtype"], _sizes(found["shape"], f"{where}: shape"), found["data_offsets"], where)


def _checked(dtype: object, shape: tuple[int, ...], offsets: object, where: str) -> Entry:
    """Dtype, shape and offsets say the same size. Raises `FormatError`."""
    if not isinstance(dtype, str):
        raise FormatError(f"{where}: dtype: expected a string, found {shown(dtype)}")
    ends = _sizes(offsets, f"{where}: data_offsets")
    if len(ends) != 2 or ends[0] > ends[1]:
        raise FormatError(f"{where}: data_offsets: expected [begin, end], found {shown(list(ends))}")
    begin, end = ends
    known = DTYPES.get(dtype)
    elements = _product(shape, known.bits if known else 1, where)
    if known is None:
        fault = misspelt(dtype, elements, end - begin)
        if fault:
            raise FormatError(f"{where}: dtype: {fault}, found {shown(dtype)}", hint="the header is damaged")
    elif elements * known.bits != (end - begin) * 8:
        size = elements * known.bits / 8
        raise FormatError(
            f"{where}: expected {size:,.10g} bytes for {dtype} {list(shape)}, found offsets of {end - begin:,}"
        )
    return Entry(dtype, shape, begin, end)


def _product(shape: tuple[int, ...], bits: int, where: str) -> int:
    """Elements; refuses what overflows 64 bits on its way, like the reference, even where a later 0 would mend it."""
    elements = 1
    for size in shape:
        elements *= size
        if elements > MAX_U64:
            break
    if elements * bits > MAX_U64:
        raise FormatError(f"{where}: shape: expected a size below 2^64, found {shown(list(shape))}")
    return elements


def _sizes(value: object, where: str) -> tuple[int, ...]:
    """A list of unsigned 64-bit integers; a bool is none, nor is 1.0."""
    if not isinstance(value, list) or not all(type(size) is int and 0 <= size <= MAX_U64 for size in value):
        raise FormatError(f"{where}: expected a list of sizes, found {shown(value)}")
    if len(value) > MAX_RANK:
        raise UnsupportedError(f"{where}: expected at most {MAX_RANK} dimensions, found {len(value):,}")
    return tuple(value)


def _plain(value: Any) -> bool:
    """A string, a finite number, true, false or null."""
    if isinstance(value, float):
        return isfinite(value)
    return value is None or (type(value) is int and value <= MAX_U64) or isinstance(value, bool | str)
