"""Write a file as large as GPT-2 small's checkpoint that takes 200 kB of disk: its names and shapes, mostly a hole.

    python scripts/sparse_layout.py DEST      # DEST/model.safetensors (548 MB, sparse) and DEST/config.json

The 50 norm tensors hold random numbers, all else reads as zeros; the order is ours. For measuring reads at true scale
where nothing of the published file is at hand.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from array import array
from math import prod
from pathlib import Path

LAYERS, WIDTH, POSITIONS, VOCABULARY = 12, 768, 1024, 50257
_SEED = 12

_CONFIG = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "n_layer": LAYERS,
    "n_head": 12,
    "n_embd": WIDTH,
    "n_positions": POSITIONS,
    "n_ctx": POSITIONS,
    "vocab_size": VOCABULARY,
    "layer_norm_epsilon": 1e-05,
    "activation_function": "gelu_new",
}


def shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of all 160 tensors: 148 parameters and the 12 mask buffers that the published file also holds."""
    block: dict[str, tuple[int, ...]] = {
        "ln_1.weight": (WIDTH,),
        "ln_1.bias": (WIDTH,),
        "attn.bias": (1, 1, POSITIONS, POSITIONS),  # the mask
        "attn.c_attn.weight": (WIDTH, 3 * WIDTH),
        "attn.c_attn.bias": (3 * WIDTH,),
        "attn.c_proj.weight": (WIDTH, WIDTH),
        "attn.c_proj.bias": (WIDTH,),
        "ln_2.weight": (WIDTH,),
        "ln_2.bias": (WIDTH,),
        "mlp.c_fc.weight": (WIDTH, 4 * WIDTH),
        "mlp.c_fc.bias": (4 * WIDTH,),
        "mlp.c_proj.weight": (4 * WIDTH, WIDTH),
        "mlp.c_proj.bias": (WIDTH,),
    }
    tensors: dict[str, tuple[int, ...]] = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (POSITIONS, WIDTH)}
    tensors |= {f"h.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in block.items()}
    return tensors | {"ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}


def norm_values(name: str, rng: random.Random) -> bytes:
    """Random gains around 1, random biases around 0, as little-endian float32."""
    centre, spread = (1.0, 0.2) if name.endswith("weight") else (0.0, 0.1)
    values = array("f", (rng.gauss(centre, spread) for _ in range(WIDTH)))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def write(dest: Path) -> None:
    """Write both files into `dest`."""
    dest.mkdir(parents=True, exist_ok=True)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begins, end = {}, 0
    for name, shape in shapes().items():
        begins[name], end = end, end + 4 * prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begins[name], end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    rng = random.Random(_SEED)
    with (dest / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, begin in begins.items():
            if ".ln_" in f".{name}":
                file.seek(8 + len(text) + begin)
                file.write(norm_values(name, rng))
        file.truncate(8 + len(text) + end)
    (dest / "config.json").write_text(json.dumps(_CONFIG, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
