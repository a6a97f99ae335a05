"""The header of a .npy array, format versions 1 to 3, and its numbers. Nothing in it is evaluated, no pickle is ever read.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. NumPy's own reader hands the header to
Python's parser; it has one possible shape, so three patterns do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from ln_audit.core import Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES
from ln_audit.formats.shown import shown

MAGIC = b"\x93NUMPY"
USUAL = 1_024  # bytes that hold nearly every header: NumPy's has 128
LONGEST = 12 + 10_000  # bytes: magic, version, length, and NumPy's own limit
MAX_RANK = 64
LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # by format version

_PARTS = (
    re.compile(r"""['"]descr['"]\s*:\s*(?:'([^']*)'|"([^"]*)"|(\[[^\n]*\]))"""),
    re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)"""),
    re.compile(r"""['"]shape['"]\s*:\s*\(\s*((?:\d{1,19}L?\s*,\s*)*(?:\d{1,19}L?\s*)?)\)"""),  # L: Python 2
)
_BETWEEN = re.compile(r"\s*\{[\s,]*\}\s*")
_KINDS = {
    "b1": "BOOL", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64",
    "f2": "F16", "f4": "F32", "f8": "F64", "f16": "F128", "c8": "C64", "c16": "C128",
}  # fmt: skip
_WORDS = frozenset("SUaMm")  # bytes, text, dates: no weights


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What a header says. `dtype` is safetensors' name, V2 for two bytes without a type, None for words and dates."""

    dtype: str | None
    big_endian: bool
    fortran: bool  # the first axis runs fastest
    shape: tuple[int, ...]
    begin: int  # where the numbers do
    nbytes: int

    def info(self, name: str) -> TensorInfo:
        """The same for those who do not care how it lies."""
        return TensorInfo(name, self.dtype or "", self.shape, self.nbytes)


def header_length(head: bytes, where: str) -> int:
    """How many bytes there are before the numbers. Raises `FormatError`."""
    if not head.startswith(MAGIC):
        raise FormatError(f"{where}: expected an array of NumPy, found {shown(head[:8])}")
    version = head[6] if len(head) > 6 else 0
    if version not in LENGTH_BYTES:
        raise FormatError(f"{where}: npy version: expected 1, 2 or 3, found {version}")
    start = 8 + LENGTH_BYTES[version]
    length = start + int.from_bytes(head[8:start], "little")
    if length > LONGEST or len(head) < start:
        raise FormatError(f"{where}: npy header: expected at most {LONGEST:,} bytes, found {length:,}")
    return length


def read_header(head: bytes, size: int, where: str) -> NpyHeader:
    """The header of an array that takes `size` bytes and begins with `head`. Raises `FormatError`."""
    begin = header_length(head, where)
    if len(head) < begin:
        raise FormatError(f"{where}: npy header: expected {begin:,} bytes, found {len(head):,}")
    text = head[8 + LENGTH_BYTES[head[6]] : begin].decode("utf-8" if head[6] == 3 else "latin-1", "replace")
    descr, order, shape = found = [pattern.search(text) for pattern in _PARTS]
    between = text
    for match in filter(None, found):
        between = between.replace(match[0], "", 1)
    if descr is None or order is None or shape is None or not _BETWEEN.fullmatch(between):
        raise FormatError(f"{where}: npy header: expected descr, fortran_order and shape, found {shown(text)}")
    sizes = tuple(int(axis.strip().rstrip("L")) for axis in shape[1].split(",") if axis.strip())
    if len(sizes) > MAX_RANK:
        raise UnsupportedError(f"{where}: expected at most {MAX_RANK} dimensions, found {len(sizes):,}")
    code = next(group for group in descr.groups() if group is not None)
    dtype, width = _dtype(code, where)
    nbytes = prod(sizes) * width
    if size != begin + nbytes:
        hint = "the file was cut short" if size < begin + nbytes else "only one array may be in a file"
        raise FormatError(
            f"{where}: expected {begin + nbytes:,} bytes for {code} {list(sizes)}, found {size:,}", hint=hint
        )
    return NpyHeader(dtype, code[0] == ">", order[1] == "True", sizes, begin, nbytes)


def stored(header: NpyHeader, data: bytes, where: str) -> Stored:
    """The numbers, lowest byte first and last axis fastest, from the bytes behind the header.

    Raises `UnsupportedError` for a dtype whose values cannot be known.
    """
    if header.dtype == "V2":
        raise UnsupportedError(
            f"{where}: dtype: expected numbers, found V2, two bytes without a type (NumPy saves bfloat16 so)",
            hint="save it as safetensors, which keeps bfloat16, or with .astype('float32')",
        )
    if header.dtype not in DTYPES:
        raise UnsupportedError(f"{where}: dtype: expected one whose values can be read, found {header.dtype}")
    bits = DTYPES[header.dtype].bits
    return Stored(header.dtype, header.shape, _in_order(header, data, bits // (16 if header.dtype == "C64" else 8)))


def _in_order(header: NpyHeader, data: bytes, width: int) -> bytes:
    if not (header.big_endian and width > 1) and not (header.fortran and len(header.shape) > 1):
        return data
    import numpy as np

    order = ">" if header.big_endian else "<"
    unit = np.dtype((np.void, header.nbytes // max(1, prod(header.shape))))
    little = np.frombuffer(data, f"{order}u{width}").astype(f"<u{width}")
    values = little.view(unit) if little.size else little
    return values.reshape(header.shape, order="F" if header.fortran else "C").tobytes("C")


def _dtype(code: str, where: str) -> tuple[str | None, int]:
    """The name in safetensors' terms and the bytes of one value. Raises `FormatError` for what holds Python objects, or is damaged."""
    if "O" in code:
        raise UnsupportedError(
            f"{where}: dtype: expected numbers, found {shown(code)}, Python objects, "
            "which are never read because reading them runs code",
            hint="save numbers only: one array per name",
        )
    match = re.fullmatch(r"([<>|=]?)([a-zA-Z])(\d{1,9})(\[\w{1,8}\])?", code)
    if match is None:
        raise UnsupportedError(f"{where}: dtype: expected numbers, found {shown(code)}")
    kind, width = match[2], int(match[3])
    if kind + match[3] in _KINDS:
        return _KINDS[kind + match[3]], width
    if kind == "V":
        return f"V{width}", width
    if kind in _WORDS:
        return None, width * (4 if kind == "U" else 1)
    raise FormatError(f"{where}: dtype: expected one of NumPy's, found {shown(code)}")
