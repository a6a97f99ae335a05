"""What an HDF5 object header says of a dataset or group: shape, number type, where the bytes lie, attributes of text.

Format: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html, sections IV.A.1.a and IV.A.2.
"""

from __future__ import annotations

from typing import NamedTuple

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError

DATASPACE, LINK_INFO, DATATYPE, LINK, EXTERNAL, LAYOUT, ATTRIBUTE, CONTINUATION, SYMBOLS = (
    0x01, 0x02, 0x03, 0x06, 0x07, 0x08, 0x0C, 0x10, 0x11,
)  # fmt: skip
NOWHERE = 2**64 - 1
MAX_RANK = 32  # HDF5's own
_INTEGER, _FLOAT, _STRING, _OPAQUE, _ENUM, _VARIABLE = 0, 1, 3, 5, 8, 9  # classes of number types
# Bit offset, precision, place and size of the exponent, place and size of the mantissa, exponent bias.
_FLOATS: dict[tuple[int, ...], str] = {
    (0, 16, 10, 5, 0, 10, 15): "F16",
    (0, 32, 23, 8, 0, 23, 127): "F32",
    (0, 64, 52, 11, 0, 52, 1023): "F64",
    (0, 16, 7, 8, 0, 7, 127): "BF16",
}


class Datatype(NamedTuple):
    """safetensors' name of the numbers, V2 for two bytes without a type, `text` or `variable text`; None for others."""

    name: str | None
    size: int
    big_endian: bool


class Attribute(NamedTuple):
    """One attribute's name and the bytes of its value, if that is one text."""

    name: str
    datatype: Datatype
    value: bytes


def dataspace(data: bytes, where: str) -> tuple[int, ...]:
    """The shape. Raises `FormatError`."""
    version, rank = data[0], data[1]
    begin = {1: 8, 2: 4}.get(version)
    if begin is None or rank > MAX_RANK or len(data) < begin + 8 * rank:
        raise FormatError(f"{where}: expected a shape, found version {version} with {rank} sizes")
    if version == 2 and data[3] == 2:  # a null space holds nothing
        return (0,)
    return tuple(int.from_bytes(data[begin + 8 * i : begin + 8 * i + 8], "little") for i in range(rank))


def datatype(data: bytes, where: str) -> Datatype:
    """The number type. Raises `FormatError`."""
    if len(data) < 8:
        raise FormatError(f"{where}: expected a datatype, found {len(data)} bytes")
    kind, bits, size = data[0] & 0x0F, int.from_bytes(data[1:4], "little"), int.from_bytes(data[4:8], "little")
    properties = data[8:]
    if kind == _INTEGER and size in {1, 2, 4, 8}:
        return Datatype(f"{'I' if bits & 8 else 'U'}{8 * size}", size, bool(bits & 1))
    if kind == _FLOAT and len(properties) >= 12:
        return Datatype(_FLOATS.get(_layout(properties)), size, bool(bits & 1))
    if kind == _ENUM and size == 1 and b"FALSE\0" in properties and b"TRUE\0" in properties:
        return Datatype("BOOL", 1, big_endian=False)
    if kind == _OPAQUE and size == 2:
        return Datatype("V2", 2, big_endian=False)
    if kind == _STRING:
        return Datatype("text", size, big_endian=False)
    if kind == _VARIABLE and bits & 0x0F == 1:
        return Datatype("variable text", size, big_endian=False)
    return Datatype(None, size, big_endian=False)


def contiguous(data: bytes, where: str) -> Range | None:
    """Where a dataset's bytes lie in one piece; None where it has none. Raises `UnsupportedError` for pieces."""
    version, kind = data[0], data[1]
    if version not in {3, 4} or kind not in {0, 1, 2, 3}:
        raise FormatError(f"{where}: expected a layout of version 3 or 4, found version {version}, class {kind}")
    if kind != 1:
        what = {0: "inside its header", 2: "in chunks", 3: "in other files"}[kind]
        raise UnsupportedError(
            f"{where}: expected its numbers in one piece, found them {what}",
            hint="save the weights again without compression, as Keras does",
        )
    begin, size = (int.from_bytes(data[at : at + 8], "little") for at in (2, 10))
    return None if begin == NOWHERE else Range(begin, begin + size)


def attribute(data: bytes, where: str) -> Attribute | None:
    """An attribute that is one text; None for numbers and lists. Raises `FormatError`."""
    version = data[0]
    if version not in {1, 2, 3}:
        raise FormatError(f"{where}: expected an attribute of version 1 to 3, found {version}")
    sizes = [int.from_bytes(data[at : at + 2], "little") for at in (2, 4, 6)]
    at = 9 if version == 3 else 8  # version 3 says how the name is encoded
    parts: list[bytes] = []
    for size in sizes:
        parts.append(data[at : at + size])
        at += -(-size // 8) * 8 if version == 1 else size
    if sum(map(len, parts)) != sum(sizes):
        raise FormatError(f"{where}: expected an attribute of {sum(sizes):,} bytes, found {len(data):,}")
    name, kind, space = parts
    found = datatype(kind, where)
    if found.name not in {"text", "variable text"} or len(space) < 2 or space[1]:
        return None
    return Attribute(name.rstrip(b"\0").decode("utf-8", "replace"), found, data[at : at + found.size])


def _layout(properties: bytes) -> tuple[int, ...]:
    offset, precision, bias = (int.from_bytes(properties[at:to], "little") for at, to in ((0, 2), (2, 4), (8, 12)))
    return (offset, precision, *properties[4:8], bias)
