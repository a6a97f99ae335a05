"""One TensorProto of an ONNX model: its dtype and shape, and where its numbers lie, none of them read yet.

Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
"""

from __future__ import annotations

import posixpath
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range, TensorInfo
from ln_audit.errors import FormatError, SourceError, UnsupportedError
from ln_audit.formats.protobuf import LEN, VARINT, Field, message, signed, varint
from ln_audit.formats.shown import shown
from ln_audit.sources.file_names import check_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.formats.protobuf import Window

# TensorProto.DataType by number, with the bits of one value; strings are left out.
DATA_TYPES: dict[int, tuple[str, int]] = {
    1: ("F32", 32), 2: ("U8", 8), 3: ("I8", 8), 4: ("U16", 16), 5: ("I16", 16), 6: ("I32", 32), 7: ("I64", 64),
    9: ("BOOL", 8), 10: ("F16", 16), 11: ("F64", 64), 12: ("U32", 32), 13: ("U64", 64), 14: ("C64", 64),
    15: ("C128", 128), 16: ("BF16", 16), 17: ("F8_E4M3", 8), 18: ("F8_E4M3FNUZ", 8), 19: ("F8_E5M2", 8),
    20: ("F8_E5M2FNUZ", 8), 21: ("U4", 4), 22: ("I4", 4), 23: ("F4", 4), 24: ("F8_E8M0", 8), 25: ("U2", 2), 26: ("I2", 2),
}  # fmt: skip
DIMS, DATA_TYPE, NAME, RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 1, 2, 8, 9, 13, 14
STRING = 8  # the data type
TYPED = frozenset({4, 5, 7, 10, 11})  # float_data, int32_data, int64_data, double_data, uint64_data
MAX_TYPED = 16_777_216  # bytes of a tensor whose numbers are fields and not raw bytes: those must all be in memory
MAX_RANK = 64
MAX_NAME = 4_096  # bytes
MAX_PLACE = 8_192  # bytes of an external_data entry


class Tensor(NamedTuple):
    """One tensor. Its bytes are `range` of `file`; where `typed`, that is the whole message with its number fields."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    file: str
    range: Range
    typed: bool = False

    @property
    def info(self) -> TensorInfo:
        """The same for those who do not care where it lies."""
        return TensorInfo(self.name, self.dtype, self.shape, self.nbytes)


def read_tensor(window: Window, parts: Iterable[Field], whole: Range, name: str | None = None) -> Tensor | None:
    """The TensorProto that is `whole` and has the fields `parts`, under `name` if it has none itself; None for strings.

    Raises `FormatError` where its numbers are not as many as its shape says.
    """
    dims: list[int] = []
    place: dict[str, str] = {}
    numbers: dict[int, int] = {}
    raw: Range | None = None
    for part in parts:
        if part.number == DIMS:
            dims += _dims(window, part)
        elif part.number == NAME and name is None:
            name = text(window, part)
        elif part.number == RAW_DATA and part.wire == LEN:
            raw = Range(part.begin, part.end)
        elif part.number == EXTERNAL_DATA and part.wire == LEN:
            place |= _pair(window, part)
        else:
            numbers[part.number] = part.value
    where = f"{window.label}: {shown(name or '')}"
    if numbers.get(DATA_TYPE) == STRING:
        return None
    dtype, bits = _dtype(numbers.get(DATA_TYPE, 0), where)
    shape = _checked(dims, where)
    tensor = Tensor(name or "", dtype, shape, -(-prod(shape) * bits // 8), window.label, raw or Range(0, 0))
    if numbers.get(DATA_LOCATION) == 1:
        return _external(tensor, place, where)
    return _typed(tensor, whole, where) if raw is None and TYPED & numbers.keys() else _raw(tensor, where)


def _dtype(code: int, where: str) -> tuple[str, int]:
    if code not in DATA_TYPES:
        raise FormatError(f"{where}: data type: expected one of ONNX's, found {code}")
    return DATA_TYPES[code]


def text(window: Window, field: Field) -> str:
    """A string. Raises `FormatError` where it is too long or not UTF-8."""
    if field.wire != LEN or field.value > MAX_NAME:
        raise FormatError(f"{window.label}: byte {field.begin:,}: expected a name, found {field.value:,} bytes")
    try:
        return window.bytes(field.begin, field.end).decode()
    except UnicodeDecodeError as cause:
        raise FormatError(f"{window.label}: byte {field.begin:,}: expected UTF-8, found other bytes") from cause


def _raw(tensor: Tensor, where: str) -> Tensor:
    found = tensor.range.end - tensor.range.begin
    if found != tensor.nbytes:
        raise FormatError(
            f"{where}: expected {tensor.nbytes:,} bytes for {tensor.dtype} {list(tensor.shape)}, found {found:,}"
        )
    return tensor


def _typed(tensor: Tensor, whole: Range, where: str) -> Tensor:
    if whole.end - whole.begin > MAX_TYPED:
        raise UnsupportedError(
            f"{where}: expected raw bytes above {MAX_TYPED:,}, found {whole.end - whole.begin:,} bytes of single numbers",
            hint="load and save the model with the onnx package, which writes raw bytes",
        )
    return tensor._replace(range=whole, typed=True)


def _external(tensor: Tensor, place: dict[str, str], where: str) -> Tensor:
    """A tensor whose bytes lie in a file beside the model. Raises `FormatError`."""
    location = place.get("location", "")
    file = posixpath.join(posixpath.dirname(tensor.file), location.removeprefix("./"))
    try:
        check_inside(where, location.removeprefix("./"))
    except SourceError as cause:
        raise FormatError(
            f"{where}: external data: expected a file of the model's folder, found {shown(location)}"
        ) from cause
    offset, length = place.get("offset", "0"), place.get("length", str(tensor.nbytes))
    if not (offset + length).isascii() or not (offset + length).isdecimal() or len(offset + length) > 40:
        raise FormatError(f"{where}: external data: expected offset and length, found {shown(offset)}, {shown(length)}")
    if int(length) != tensor.nbytes:
        raise FormatError(
            f"{where}: external data: expected {tensor.nbytes:,} bytes for {tensor.dtype} {list(tensor.shape)}, "
            f"found {int(length):,}"
        )
    return tensor._replace(file=file, range=Range(int(offset), int(offset) + tensor.nbytes))


def _pair(window: Window, field: Field) -> dict[str, str]:
    """A StringStringEntryProto."""
    if field.value > MAX_PLACE:
        raise FormatError(f"{window.label}: byte {field.begin:,}: expected a place, found {field.value:,} bytes")
    data = window.bytes(field.begin, field.end)
    found = {part.number: data[part.begin : part.end] for part in message(data, window.label) if part.wire == LEN}
    key, value = (found.get(number, b"").decode("utf-8", "backslashreplace") for number in (1, 2))
    return {key: value}


def _dims(window: Window, field: Field) -> list[int]:
    """Sizes, one to a field or all in one."""
    if field.wire == VARINT:
        return [signed(field.value)]
    if field.value > 10 * MAX_RANK:
        raise FormatError(f"{window.label}: byte {field.begin:,}: expected a shape, found {field.value:,} bytes")
    sizes: list[int] = []
    data, at = window.bytes(field.begin, field.end), 0
    while at < len(data):
        size, at = varint(data, at, window.label)
        sizes.append(signed(size))
    return sizes


def _checked(dims: list[int], where: str) -> tuple[int, ...]:
    if len(dims) > MAX_RANK or any(size < 0 for size in dims):
        raise FormatError(f"{where}: expected a shape of at most {MAX_RANK} sizes, found {shown(dims)}")
    return tuple(dims)
