"""A TensorFlow checkpoint, written from the format's description as TensorFlow's BundleWriter writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA_TYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9, "bool": 10,
    "bfloat16": 14, "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip
STRING = 7
MAGIC = 0xDB4775248B80FB57


def crc32c(data: bytes) -> int:
    """Bit by bit, as the definition says: independent of the tables of the package."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value % 2**64) if value else b""


def nested(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def shape_message(shape: Iterable[int]) -> bytes:
    return b"".join(nested(2, number(1, size)) for size in shape)


def entry(dtype: int, shape: Iterable[int], offset: int, data: bytes, *, shard: int = 0, extra: bytes = b"") -> bytes:
    place = number(3, shard) + number(4, offset) + number(5, len(data))
    return (
        number(1, dtype)
        + nested(2, shape_message(shape))
        + place
        + b"\x35"
        + masked(data).to_bytes(4, "little")
        + extra
    )


def header(shards: int = 1, endianness: int = 0) -> bytes:
    return number(1, shards) + number(2, endianness) + nested(3, number(1, 1))


def block(items: Iterable[tuple[bytes, bytes]], interval: int = 16, compression: int = 0) -> bytes:
    out, restarts, last = bytearray(), [0], b""
    for i, (key, value) in enumerate(items):
        shared = 0
        if i % interval:
            while shared < min(len(last), len(key)) and last[shared] == key[shared]:
                shared += 1
        elif i:
            restarts.append(len(out))
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return sealed(bytes(out), restarts, compression)


def sealed(entries: bytes, restarts: Iterable[int] = (0,), compression: int = 0) -> bytes:
    """A block of written entries: its restart points, compression and checksum."""
    points = [*restarts]
    out = entries + b"".join(at.to_bytes(4, "little") for at in (*points, len(points))) + bytes([compression])
    return out + masked(out).to_bytes(4, "little")


def footer(metadata: tuple[int, int], index: tuple[int, int]) -> bytes:
    """The end of a table: where its last two blocks begin, and how long they are."""
    return b"".join(varint(n) for n in (*metadata, *index)).ljust(40, b"\0") + MAGIC.to_bytes(8, "little")


def table(items: list[tuple[bytes, bytes]], per_block: int = 8, compression: int = 0) -> bytes:
    """The file of sorted items, `per_block` of them in each block."""
    out, handles = bytearray(), []
    for at in range(0, len(items), per_block):
        piece = block(items[at : at + per_block], compression=compression)
        handles.append((items[min(at + per_block, len(items)) - 1][0], varint(len(out)) + varint(len(piece) - 5)))
        out += piece
    places = []
    for piece in (block([]), block(handles, interval=1)):
        places.append((len(out), len(piece) - 5))
        out += piece
    return bytes(out) + footer(*places)


def checkpoint(tensors: dict[str, np.ndarray[Any, Any]], name: str = "model.ckpt") -> dict[str, bytes]:
    """Index and data file of the tensors."""
    items, data = [(b"", header())], b""
    for key, array in sorted(tensors.items()):
        raw = array.tobytes()
        items.append((key.encode(), entry(DATA_TYPES[array.dtype.name], array.shape, len(data), raw)))
        data += raw
    return {f"{name}.index": table(items), f"{name}.data-00000-of-00001": data}
