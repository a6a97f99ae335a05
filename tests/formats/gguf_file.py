"""A small writer of GGUF, of our own, so that no test of the reader needs the format's library; also of bad files."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ln_audit.formats.dtypes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

TYPES = {
    "F32": 0,
    "F16": 1,
    "Q4_0": 2,
    "Q8_0": 8,
    "Q4_K": 12,
    "I8": 24,
    "I16": 25,
    "I32": 26,
    "I64": 27,
    "F64": 28,
    "BF16": 30,
}
LETTERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)


@dataclass
class Tensor:
    """`shape` is the usual one, `data` as it lies in the file; `offset` is worked out unless it is given."""

    name: str | bytes
    type: str | int
    shape: tuple[int, ...]
    data: bytes
    offset: int | None = None


@dataclass
class GgufFile:
    """`values` are (key, type, value); an array's value is (type of its elements, list). Counts follow unless given."""

    values: list[tuple[str, int, object]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    version: int = 3
    order: str = "<"
    alignment: int = 32
    tensor_count: int | None = None
    key_count: int | None = None
    padded: bool = True  # behind the last tensor too

    def header(self) -> bytes:
        """Everything before the padding in front of the tensors."""
        tensor_count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        key_count = len(self.values) if self.key_count is None else self.key_count
        parts = [b"GGUF", self.pack("I", self.version), self.pack("QQ", tensor_count, key_count)]
        for key, kind, value in self.values:
            parts += [self.text(key), self.pack("I", kind), self.value(kind, value)]
        offset = 0
        for tensor in self.tensors:
            kind = TYPES[tensor.type] if isinstance(tensor.type, str) else tensor.type
            at = offset if tensor.offset is None else tensor.offset
            sizes = tuple(reversed(tensor.shape))
            parts.append(self.text(tensor.name) + self.pack(f"I{len(sizes)}QIQ", len(sizes), *sizes, kind, at))
            offset = max(offset, at) + self.pad(len(tensor.data))
        return b"".join(parts)

    def whole(self) -> bytes:
        """The whole file."""
        data = bytearray(self.header())
        data += bytes(self.pad(len(data)) - len(data))
        for i, tensor in enumerate(self.tensors):
            data += tensor.data
            if self.padded or i < len(self.tensors) - 1:
                data += bytes(self.pad(len(data)) - len(data))
        return bytes(data)

    def pad(self, size: int) -> int:
        return -(-size // self.alignment) * self.alignment

    def pack(self, letters: str, *values: object) -> bytes:
        return struct.pack(self.order + letters, *values)

    def text(self, value: str | bytes) -> bytes:
        raw = value.encode() if isinstance(value, str) else value
        return self.pack("Q", len(raw)) + raw

    def value(self, kind: int, value: object) -> bytes:
        if isinstance(value, bytes):  # as it is, for what no writer would write
            return value
        if kind == STRING:
            assert isinstance(value, str)
            return self.text(value)
        if kind == ARRAY:
            assert isinstance(value, tuple)
            inner, elements = value
            return self.pack("IQ", inner, len(elements)) + b"".join(self.value(inner, each) for each in elements)
        return self.pack(LETTERS[kind], value)


def floats(*values: float, order: str = "<") -> bytes:
    """float32 as stored."""
    return struct.pack(f"{order}{len(values)}f", *values)


def of_arrays(tensors: Mapping[str, np.ndarray]) -> bytes:
    """A file of these tensors that ends with the last one's bytes: an alignment of 8 leaves no padding behind 8 bytes."""
    names = {known.numpy: name for name, known in DTYPES.items()}
    made = [Tensor(name, names[a.dtype.name], a.shape, a.tobytes()) for name, a in tensors.items()]
    return GgufFile([("general.alignment", U32, 8)], made, alignment=8).whole()


def small() -> GgufFile:
    """A model of one layer, with every kind of value and several of tensors."""
    values: list[tuple[str, int, object]] = [
        ("general.architecture", STRING, "gpt2"),
        ("general.name", STRING, "Small — ✓"),
        ("general.file_type", U32, 0),
        ("general.quantization_version", U32, 2),
        ("gpt2.embedding_length", U32, 4),
        ("gpt2.block_count", U64, 1),
        ("gpt2.attention.layer_norm_epsilon", F32, 1e-5),
        ("gpt2.rope", F64, 0.1),
        ("gpt2.causal", BOOL, True),
        ("gpt2.small", I8, -3),
        ("gpt2.byte", U8, 255),
        ("gpt2.short", I16, -300),
        ("gpt2.word", U16, 65_535),
        ("gpt2.int", I32, -70_000),
        ("gpt2.long", I64, -(2**40)),
        ("gpt2.per_layer", ARRAY, (I32, [4, -5])),
        ("gpt2.flags", ARRAY, (BOOL, [True, False])),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "", "bc"])),
        ("nested", ARRAY, (ARRAY, [(U8, [1]), (STRING, ["x"])])),
    ]
    tensors = [
        Tensor("output_norm.weight", "F32", (4,), floats(1, -0.0, 2.5, float("nan"))),
        Tensor("output_norm.bias", "F32", (4,), floats(0, 1, 2, 3)),
        Tensor("token_embd.weight", "F16", (2, 4), bytes(range(16))),
        Tensor("half", "BF16", (3,), bytes(range(6))),
        Tensor("double", "F64", (), struct.pack("<d", 2.25)),
        Tensor("counts", "I64", (2, 1), struct.pack("<2q", -1, 2**40)),
        Tensor("empty", "F32", (3, 0), b""),
        Tensor("blk.0.ffn_up.weight", "Q8_0", (2, 32), bytes(68)),
    ]
    return GgufFile(values, tensors)
