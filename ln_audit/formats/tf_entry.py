"""The protobuf messages in the index of a TensorFlow checkpoint: its header, and where each tensor lies.

Format: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES
from ln_audit.formats.protobuf import I32, LEN, VARINT, message, signed

MAX_SHARDS = 4_096
MAX_RANK = 64
# DataType in tensorflow/core/framework/types.proto; those that are no plain numbers have no name here.
DATA_TYPES = {
    1: "F32", 2: "F64", 3: "I32", 4: "U8", 5: "I16", 6: "I8", 8: "C64", 9: "I64", 10: "BOOL", 14: "BF16", 17: "U16",
    19: "F16", 22: "U32", 23: "U64", 24: "F8_E5M2", 25: "F8_E4M3", 26: "F8_E4M3FNUZ", 28: "F8_E5M2FNUZ",
}  # fmt: skip


class Header(NamedTuple):
    """How many data files there are, and whether their numbers have the highest byte first."""

    shards: int
    big_endian: bool


class Entry(NamedTuple):
    """One tensor: bytes `begin` to `end` of a data file. `dtype` is None where it holds no plain numbers (strings)."""

    dtype: str | None
    shape: tuple[int, ...]
    shard: int
    begin: int
    end: int
    masked_crc: int
    slices: int  # parts that it was saved in, each an entry of its own; then nothing is stored here


def parse_header(data: bytes, where: str) -> Header:
    """BundleHeaderProto. Raises `FormatError`."""
    found = {field.number: field.value for field in message(data, where) if field.wire == VARINT}
    shards, endianness = found.get(1, 0), found.get(2, 0)
    if not 1 <= shards <= MAX_SHARDS or endianness not in {0, 1}:
        raise FormatError(
            f"{where}: expected 1 to {MAX_SHARDS:,} data files, little- or big-endian, "
            f"found {shards:,} of byte order {endianness}"
        )
    return Header(shards, endianness == 1)


def parse_entry(data: bytes, where: str) -> Entry:
    """BundleEntryProto. Raises `FormatError` where dtype, shape and size contradict each other."""
    numbers: dict[int, int] = {}
    shape: tuple[int, ...] = ()
    slices = 0
    for field in message(data, where):
        if field.wire in {VARINT, I32}:
            numbers[field.number] = field.value
        elif (field.number, field.wire) == (2, LEN):
            shape = _shape(data[field.begin : field.end], where)
        elif (field.number, field.wire) == (7, LEN):
            slices += 1
    code, shard, begin, size = (signed(numbers.get(number, 0)) for number in (1, 3, 4, 5))
    if begin < 0 or size < 0 or begin + size >= 2**63:
        raise FormatError(f"{where}: expected an offset and a size, found {begin} and {size}")
    dtype = DATA_TYPES.get(code)
    entry = Entry(dtype, shape, shard, begin, begin + size, numbers.get(6, 0), slices)
    if dtype is not None and not slices:
        _check_size(entry, dtype, where)
    return entry


def _check_size(entry: Entry, dtype: str, where: str) -> None:
    expected = prod(entry.shape) * DTYPES[dtype].bits // 8
    if entry.end - entry.begin != expected:
        raise FormatError(
            f"{where}: expected {expected:,} bytes for {dtype} {list(entry.shape)}, found {entry.end - entry.begin:,}"
        )


def _shape(data: bytes, where: str) -> tuple[int, ...]:
    """TensorShapeProto: a list of messages with one number each; a size of 0 is an empty message."""
    sizes: list[int] = []
    for field in message(data, where):
        if (field.number, field.wire) == (2, LEN):
            sizes.append(_size(data[field.begin : field.end], where))
        elif field.number == 3 and field.value:
            raise FormatError(f"{where}: shape: expected a known rank, found an unknown one")
        if len(sizes) > MAX_RANK:
            raise UnsupportedError(f"{where}: expected at most {MAX_RANK} dimensions, found more")
    return tuple(sizes)


def _size(data: bytes, where: str) -> int:
    size = 0
    for field in message(data, where):
        if (field.number, field.wire) == (1, VARINT):
            size = signed(field.value)
    if size < 0:
        raise FormatError(f"{where}: shape: expected a size, found {size}")
    return size
