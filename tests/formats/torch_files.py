"""Files as `torch.save` writes them, both containers, without PyTorch; and pickles put together opcode by opcode.

tests/peers/test_torch_files.py holds what is written here against PyTorch's own reading of it.
"""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STORAGES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


class Global(NamedTuple):
    module: str
    name: str


class Call(NamedTuple):
    function: object
    arguments: tuple[object, ...]


class Persistent(NamedTuple):
    saved: object


@dataclass
class Tensor:
    """A view of the storage `key`, which holds `base`; offset and strides count elements."""

    key: str
    base: np.ndarray
    offset: int
    shape: Sequence[int]
    stride: Sequence[int]


@dataclass
class Raw:
    """Opcodes as they are."""

    code: bytes


@dataclass
class Writer:
    """Opcodes of protocol 2, with strings and names in the memo; collects the storages on its way."""

    legacy: bool = False
    storages: dict[str, np.ndarray] = field(default_factory=dict)
    memo: dict[bytes, int] = field(default_factory=dict)

    def pickle(self, value: object) -> bytes:
        self.memo.clear()
        return b"\x80\x02" + self.value(value) + b"."

    def value(self, value: Any) -> bytes:
        match value:
            case Raw():
                return value.code
            case Tensor():
                return self.tensor(value)
            case Global():
                return self.once(f"c{value.module}\n{value.name}\n".encode())
            case Call():
                return self.value(value.function) + self.value(value.arguments) + b"R"
            case Persistent():
                return self.value(value.saved) + b"Q"
            case None:
                return b"N"
            case bool():
                return b"\x88" if value else b"\x89"
            case int():
                raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
                return b"\x8a" + bytes([len(raw)]) + raw
            case float():
                return b"G" + struct.pack(">d", value)
            case str():
                return self.once(b"X" + struct.pack("<I", len(value.encode())) + value.encode())
            case tuple():
                return b"(" + b"".join(map(self.value, value)) + b"t"
            case list():
                return b"](" + b"".join(map(self.value, value)) + b"e"
            case dict():
                return b"}(" + b"".join(self.value(k) + self.value(v) for k, v in value.items()) + b"u"
        raise TypeError(type(value))

    def once(self, code: bytes) -> bytes:
        """The opcodes the first time, then what the memo holds."""
        if code in self.memo:
            return b"j" + struct.pack("<I", self.memo[code])
        self.memo[code] = len(self.memo)
        return code + b"r" + struct.pack("<I", self.memo[code])

    def tensor(self, tensor: Tensor) -> bytes:
        self.storages[tensor.key] = tensor.base
        arguments = (
            Persistent(self.persistent_id(tensor)),
            tensor.offset,
            tuple(tensor.shape),
            tuple(tensor.stride),
            False,
            Call(Global("collections", "OrderedDict"), ()),
        )
        name = tensor.base.dtype.name
        if name in STORAGES:
            return self.value(Call(Global("torch._utils", "_rebuild_tensor_v2"), arguments))
        return self.value(Call(Global("torch._utils", "_rebuild_tensor_v3"), (*arguments, Global("torch", name))))

    def persistent_id(self, tensor: Tensor) -> tuple[object, ...]:
        name = STORAGES.get(tensor.base.dtype.name)
        untyped = Global("torch", "ByteStorage") if self.legacy else Global("torch.storage", "UntypedStorage")
        kind = Global("torch", f"{name}Storage") if name else untyped
        size = tensor.base.size if name else tensor.base.nbytes
        return ("storage", kind, tensor.key, "cpu", size, *((None,) if self.legacy else ()))


def tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    """Each array as a tensor with a storage of its own."""
    return {
        name: Tensor(str(i), array.reshape(-1), 0, array.shape, [s // array.itemsize for s in array.strides])
        for i, (name, array) in enumerate(arrays.items())
    }


def save(value: object, **members: bytes) -> bytes:
    """A zip archive as of PyTorch 1.6; `members` (`byteorder=b"big"`) are put into it or replace what is there."""
    writer = Writer()
    pickle = writer.pickle(value)
    written: dict[str, bytes] = {"data.pkl": pickle, "byteorder": b"little"}
    written |= {f"data/{key}": base.tobytes() for key, base in writer.storages.items()}
    written |= {"version": b"3\n", **members}
    return archive({f"model/{name}": content for name, content in written.items()})


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip archive of these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zipped:
        for name, content in members.items():
            zipped.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def save_legacy(value: object) -> bytes:
    """The format before PyTorch 1.6."""
    writer = Writer(legacy=True)
    plain = Writer()
    parts = [plain.pickle(0x1950A86A20F9469CFC6C), plain.pickle(1001), plain.pickle({"little_endian": True})]
    parts.append(writer.pickle(value))
    keys = sorted(writer.storages)
    parts.append(plain.pickle(keys))
    for key in keys:
        base = writer.storages[key]
        count = base.size if base.dtype.name in STORAGES else base.nbytes
        parts += [struct.pack("<q", count), base.tobytes()]
    return b"".join(parts)
