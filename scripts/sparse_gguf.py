"""Write a model of five gigabytes twice, as GGUF and as safetensors, in a few MB of disk: names and shapes, mostly a hole.

    python scripts/sparse_gguf.py DEST [TOKENS]     # DEST/model.gguf and DEST/model.safetensors, 5.1 GB each, sparse

The tensors lie in the same order and both files hold the same random norms; all else reads as zeros. With TOKENS the
GGUF file also holds a tokenizer of so many strings, scores and types, as published ones do.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from array import array
from math import prod
from pathlib import Path
from typing import IO

LAYERS, WIDTH, INNER, VOCABULARY = 12, 4096, 11008, 32000  # a Llama of 2.6 thousand million parameters, 5.1 GB in F16
_U32, _F32, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5


def shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor, as llama.cpp calls them; those of one dimension are norms, in F32."""
    block: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (WIDTH,),
        **{f"attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        "ffn_norm.weight": (WIDTH,),
        "ffn_gate.weight": (INNER, WIDTH),
        "ffn_up.weight": (INNER, WIDTH),
        "ffn_down.weight": (WIDTH, INNER),
    }
    tensors: dict[str, tuple[int, ...]] = {"token_embd.weight": (VOCABULARY, WIDTH)}
    tensors |= {f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in block.items()}
    return tensors | {"output_norm.weight": (WIDTH,)}


def nbytes(shape: tuple[int, ...]) -> int:
    """Norms in F32, all else in F16."""
    return prod(shape) * (4 if len(shape) == 1 else 2)


def text(value: str) -> bytes:
    """A GGUF string."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def keys(tokens: int) -> list[bytes]:
    """The key-value pairs of the GGUF file."""
    pairs = [
        text("general.architecture") + struct.pack("<I", _STRING) + text("llama"),
        text("llama.embedding_length") + struct.pack("<II", _U32, WIDTH),
        text("llama.block_count") + struct.pack("<II", _U32, LAYERS),
        text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _F32, 1e-5),
    ]
    if tokens:
        words = b"".join(text(f"token{i}") for i in range(tokens))
        pairs += [
            text("tokenizer.ggml.tokens") + struct.pack("<IIQ", _ARRAY, _STRING, tokens) + words,
            text("tokenizer.ggml.scores") + struct.pack("<IIQ", _ARRAY, _F32, tokens) + bytes(4 * tokens),
            text("tokenizer.ggml.token_type") + struct.pack("<IIQ", _ARRAY, _I32, tokens) + bytes(4 * tokens),
        ]
    return pairs


def gguf_header(tokens: int) -> bytes:
    """Everything in front of the tensors, padded."""
    pairs, rows, offset = keys(tokens), [], 0
    for name, shape in shapes().items():
        sizes = shape[::-1]
        kind = 0 if len(shape) == 1 else 1
        rows.append(text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset))
        offset += nbytes(shape)  # each is a multiple of the alignment
    header = b"".join([b"GGUF", struct.pack("<IQQ", 3, len(rows), len(pairs)), *pairs, *rows])
    return header + bytes(-len(header) % 32)


def safetensors_header() -> bytes:
    """The same layout in the other format."""
    header, end = {}, 0
    for name, shape in shapes().items():
        dtype = "F32" if len(shape) == 1 else "F16"
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + nbytes(shape)]}
        end += nbytes(shape)
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw


def write_tensors(file: IO[bytes], header: bytes) -> None:
    """The header, the norms where they belong, and a hole for all else."""
    rng = random.Random(4)
    file.write(header)
    at = len(header)
    for shape in shapes().values():
        if len(shape) == 1:
            values = array("f", (rng.gauss(1, 0.2) for _ in range(WIDTH)))
            if sys.byteorder == "big":
                values.byteswap()
            file.seek(at)
            file.write(values.tobytes())
        at += nbytes(shape)
    file.truncate(at)


def write(dest: Path, tokens: int = 0) -> None:
    """Write both files into `dest`."""
    dest.mkdir(parents=True, exist_ok=True)
    for name, header in (("model.gguf", gguf_header(tokens)), ("model.safetensors", safetensors_header())):
        with (dest / name).open("wb") as file:
            write_tensors(file, header)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), *(int(word) for word in sys.argv[2:]))
