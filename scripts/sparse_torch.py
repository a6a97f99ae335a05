"""Write a `.bin` and a safetensors file as large as GPT-2 XL's (6.4 GB) that take 3 MB of disk: the same tensors, mostly a hole.

    python scripts/sparse_torch.py DEST [LAYERS [WIDTH]]      # DEST/bin and DEST/safetensors, each with its config.json

The norm tensors hold random numbers, all else reads as zeros. For measuring reads at true scale: 64-bit places in the
zip directory, storages that nobody asks for.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import zlib
from array import array
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.sparse_layout import POSITIONS, VOCABULARY
from tests.formats.torch_files import Tensor, Writer

_SEED = 12


def shapes(layers: int, width: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor, as transformers saves GPT-2."""
    block: dict[str, tuple[int, ...]] = {
        "ln_1.weight": (width,), "ln_1.bias": (width,), "attn.c_attn.weight": (width, 3 * width), "attn.c_attn.bias": (3 * width,),
        "attn.c_proj.weight": (width, width), "attn.c_proj.bias": (width,), "ln_2.weight": (width,), "ln_2.bias": (width,),
        "mlp.c_fc.weight": (width, 4 * width), "mlp.c_fc.bias": (4 * width,), "mlp.c_proj.weight": (4 * width, width),
        "mlp.c_proj.bias": (width,),
    }  # fmt: skip
    tensors: dict[str, tuple[int, ...]] = {"wte.weight": (VOCABULARY, width), "wpe.weight": (POSITIONS, width)}
    tensors |= {f"h.{layer}.{name}": shape for layer in range(layers) for name, shape in block.items()}
    return tensors | {"ln_f.weight": (width,), "ln_f.bias": (width,)}


def norms(tensors: dict[str, tuple[int, ...]]) -> dict[str, bytes]:
    """Random gains around 1 and biases around 0, as little-endian float32."""
    rng = random.Random(_SEED)
    found = {}
    for name, shape in tensors.items():
        if ".ln_" in f".{name}":
            centre = 1.0 if name.endswith("weight") else 0.0
            values = array("f", (rng.gauss(centre, 0.1) for _ in range(prod(shape))))
            if sys.byteorder == "big":
                values.byteswap()
            found[name] = values.tobytes()
    return found


def write(dest: Path, layers: int = 48, width: int = 1600) -> None:
    """Write both folders into `dest`."""
    tensors = shapes(layers, width)
    values = norms(tensors)
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": layers, "n_head": width // 64,
              "n_embd": width, "n_positions": POSITIONS, "vocab_size": VOCABULARY, "layer_norm_epsilon": 1e-05}  # fmt: skip
    for folder in ("bin", "safetensors"):
        (dest / folder).mkdir(parents=True, exist_ok=True)
        (dest / folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_bin(dest / "bin" / "pytorch_model.bin", tensors, values)
    write_safetensors(dest / "safetensors" / "model.safetensors", tensors, values)


def write_bin(path: Path, tensors: dict[str, tuple[int, ...]], values: dict[str, bytes]) -> None:
    """As `torch.save` writes it, but for the checksums of the storages, which are 0: not written."""
    state = {name: _tensor(str(number), shape) for number, (name, shape) in enumerate(tensors.items())}
    members: list[tuple[str, int, bytes]] = [("data.pkl", -1, Writer().pickle(state)), ("byteorder", -1, b"little")]
    members += [
        (f"data/{number}", 4 * prod(shape), values.get(name, b""))
        for number, (name, shape) in enumerate(tensors.items())
    ]
    members.append(("version", -1, b"3\n"))
    directory = b""
    with path.open("wb") as file:
        for name, size, content in members:
            directory += _member(file, f"pytorch_model/{name}", len(content) if size < 0 else size, content)
        begin = file.tell()
        end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, len(members), len(members), len(directory), begin)
        end += struct.pack("<4sLQL", b"PK\6\7", 0, begin + len(directory), 1)
        last = (len(members), len(members), len(directory), min(begin, 2**32 - 1), 0)
        file.write(directory + end + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *last))


def write_safetensors(path: Path, tensors: dict[str, tuple[int, ...]], values: dict[str, bytes]) -> None:
    """The same tensors in the same order."""
    header, begins, end = {}, {}, 0
    for name, shape in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + 4 * prod(shape)]}
        begins[name] = end
        end += 4 * prod(shape)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, content in values.items():
            file.seek(8 + len(text) + begins[name])
            file.write(content)
        file.truncate(8 + len(text) + end)


def _tensor(key: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor whose storage is as large as it says and takes no memory."""
    stride = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return Tensor(key, np.broadcast_to(np.float32(0), (prod(shape),)), 0, shape, stride)


def _member(file: BinaryIO, name: str, size: int, content: bytes) -> bytes:
    """Write a member, its content padded with a hole up to `size`; gives its entry for the directory."""
    offset, raw = file.tell(), name.encode()
    crc = zlib.crc32(content) if len(content) == size else 0
    file.write(struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0, 0, 0, 0, crc, size, size, len(raw), 0) + raw + content)
    file.truncate(offset + 30 + len(raw) + size)
    file.seek(0, 2)
    wide = struct.pack("<HHQ", 1, 8, offset) if offset >= 2**32 - 1 else b""
    fixed = (b"PK\1\2", 45, 45, 0, 0, 0, 0, crc, size, size, len(raw), len(wide), 0, 0, 0, 0, min(offset, 2**32 - 1))
    return struct.pack("<4s6H3L5H2L", *fixed) + raw + wide


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
