"""An HDF5 file of the first version, written from the format's description, laid out as h5py does it for Keras."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    Tree: TypeAlias = Mapping[str, Any]  # of arrays and trees

NOWHERE = 2**64 - 1
_FLOATS = {2: (0, 16, 10, 5, 0, 10, 15), 4: (0, 32, 23, 8, 0, 23, 127), 8: (0, 64, 52, 11, 0, 52, 1023)}


def datatype(dtype: np.dtype[Any]) -> bytes:
    big = dtype.byteorder == ">"
    if dtype == np.bool_:  # an enumeration of one byte
        members = b"FALSE\0\0\0TRUE\0\0\0\0\0\1"
        return struct.pack("<B3sI", 0x18, b"\2\0\0", 1) + struct.pack("<B3sIHH", 0x10, b"\x08\0\0", 1, 0, 8) + members
    if dtype == ml_dtypes.bfloat16:  # two opaque bytes
        return struct.pack("<B3sI", 0x15, b"\0\0\0", 2)
    if dtype.kind == "f":
        sign = 8 * dtype.itemsize - 1
        return struct.pack("<BBBBIHHBBBBI", 0x11, 0x20 | big, sign, 0, dtype.itemsize, *_FLOATS[dtype.itemsize])
    return struct.pack("<BBBBIHH", 0x10, 8 * (dtype.kind == "i") | big, 0, 0, dtype.itemsize, 0, 8 * dtype.itemsize)


def dataspace(shape: tuple[int, ...]) -> bytes:
    return struct.pack("<BBB5x", 1, len(shape), 0) + struct.pack(f"<{len(shape)}Q", *shape)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


class Writer:
    """Grows a file piece by piece; each method gives the address of what it wrote."""

    def __init__(self) -> None:
        self.data = bytearray(96)

    def put(self, data: bytes) -> int:
        self.data += bytes(-len(self.data) % 8)
        self.data += data
        return len(self.data) - len(data)

    def header(self, messages: list[tuple[int, bytes]]) -> int:
        body = b"".join(struct.pack("<HHB3x", kind, len(padded(m)), 0) + padded(m) for kind, m in messages)
        return self.put(struct.pack("<BxHIIxxxx", 1, len(messages), 1, len(body)) + body)

    def text(self, name: str, value: str) -> tuple[int, bytes]:
        """An attribute whose value lies in a heap, as h5py writes every str."""
        content = value.encode()
        heap = struct.pack("<4sB3xQ", b"GCOL", 1, 16 + 16 + len(padded(content)))
        address = self.put(heap + struct.pack("<HH4xQ", 1, 1, len(content)) + padded(content))
        kind = struct.pack("<B3sI", 0x19, b"\x01\x01\0", 16) + struct.pack("<B3sIHH", 0x10, b"\0\0\0", 1, 0, 8)
        space = dataspace(())
        raw = name.encode() + b"\0"
        head = struct.pack("<BxHHH", 1, len(raw), len(kind), len(space))
        return 0x0C, head + padded(raw) + padded(kind) + padded(space) + struct.pack("<IQI", len(content), address, 1)

    def dataset(self, array: np.ndarray[Any, Any], texts: Mapping[str, str]) -> int:
        place = self.put(array.tobytes()) if array.size else NOWHERE
        layout = struct.pack("<BBQQ", 3, 1, place, array.nbytes)
        messages = [(0x01, dataspace(array.shape)), (0x03, datatype(array.dtype)), (0x08, layout)]
        return self.header(messages + [self.text(*text) for text in texts.items()])

    def group(self, tree: Tree, texts: Mapping[str, Mapping[str, str]], path: str = "", per_table: int = 8) -> int:
        names, entries = bytearray(8), []
        for name, held in sorted(tree.items()):
            inner = f"{path}/{name}" if path else name
            if isinstance(held, np.ndarray):
                address = self.dataset(held, texts.get(inner, {}))
            else:
                address = self.group(held, texts, inner, per_table)
            entries.append(struct.pack("<QQIxxxx16x", len(names), address, 0))
            names += padded(name.encode() + b"\0")
        heap = self.put(struct.pack("<4sB3xQQQ", b"HEAP", 0, len(names), NOWHERE, self.put(bytes(names))))
        tables = []
        for at in range(0, len(entries), per_table):
            part = entries[at : at + per_table]
            tables.append(self.put(struct.pack("<4sBxH", b"SNOD", 1, len(part)) + b"".join(part)))
        keys = b"".join(struct.pack("<QQ", 0, table) for table in tables) + bytes(8)
        btree = self.put(struct.pack("<4sBBHQQ", b"TREE", 0, 0, len(tables), NOWHERE, NOWHERE) + keys)
        attributes = [self.text(*text) for text in texts.get(path, {}).items()]
        return self.header([(0x11, struct.pack("<QQ", btree, heap)), *attributes])

    def finish(self, root: int) -> bytes:
        sizes = struct.pack("<8s5xBBxHHI", b"\x89HDF\r\n\x1a\n", 8, 8, 4, 16, 0)
        self.data[:56] = sizes + struct.pack("<QQQQ", 0, NOWHERE, len(self.data), NOWHERE)
        self.data[56:96] = struct.pack("<QQIxxxx16x", 0, root, 0)
        return bytes(self.data)


def hdf5(tree: Tree, texts: Mapping[str, Mapping[str, str]] | None = None, per_table: int = 8) -> bytes:
    """A file of nested groups; `texts` are the attributes by path, those of the file under the empty one."""
    writer = Writer()
    return writer.finish(writer.group(tree, texts or {}, per_table=per_table))
