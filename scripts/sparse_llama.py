"""Write a checkpoint as large as Llama 3 70B's (141 GB, 30 shards) that takes 3 MB of disk: its names and shapes, mostly holes.

    python scripts/sparse_llama.py DEST      # DEST/model-00001-of-00030.safetensors …, their index and DEST/config.json

The 161 norm tensors hold random bfloat16 numbers, the same ones each time; all else reads as zeros.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from array import array
from math import prod
from pathlib import Path

LAYERS, WIDTH, INNER, VOCABULARY, KEYS, SHARDS = 80, 8192, 28672, 128256, 1024, 30
_SEED = 70

_CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": VOCABULARY,
}


def shapes(layers: int = LAYERS) -> dict[str, tuple[int, ...]]:
    """Name and shape of each tensor, in the order of the model."""
    block: dict[str, tuple[int, ...]] = {
        "input_layernorm": (WIDTH,),
        "self_attn.q_proj": (WIDTH, WIDTH),
        "self_attn.k_proj": (KEYS, WIDTH),
        "self_attn.v_proj": (KEYS, WIDTH),
        "self_attn.o_proj": (WIDTH, WIDTH),
        "post_attention_layernorm": (WIDTH,),
        "mlp.gate_proj": (INNER, WIDTH),
        "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER),
    }
    tensors: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, WIDTH)}
    for layer in range(layers):
        tensors |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in block.items()}
    return tensors | {"model.norm.weight": (WIDTH,), "lm_head.weight": (VOCABULARY, WIDTH)}


def is_norm(name: str) -> bool:
    """Whether a tensor is one of the 161."""
    return "norm" in name


def norm_values(rng: random.Random) -> bytes:
    """Random gains around 0.4, as little-endian bfloat16: the upper half of a float32."""
    values = array("f", (rng.lognormvariate(-0.9, 0.25) for _ in range(WIDTH)))
    if sys.byteorder == "big":
        values.byteswap()
    raw = values.tobytes()
    return bytes(byte for at in range(2, len(raw), 4) for byte in raw[at : at + 2])


def placed(layers: int, shards: int) -> list[list[str]]:
    """Names by shard: each takes about the same number of bytes, in order."""
    sizes = {name: 2 * prod(shape) for name, shape in shapes(layers).items()}
    each, found, filled = sum(sizes.values()) / shards, [[]], 0  # type: ignore[var-annotated]
    for name, size in sizes.items():
        if filled >= each * len(found) and len(found) < shards:
            found.append([])
        found[-1].append(name)
        filled += size
    return found


def write(dest: Path, layers: int = LAYERS, shards: int = SHARDS) -> int:
    """Write the checkpoint into `dest`; its size in bytes."""
    dest.mkdir(parents=True, exist_ok=True)
    rng, known, total = random.Random(_SEED), shapes(layers), 0
    weight_map = {}
    parts = placed(layers, shards)
    for number, names in enumerate(parts, 1):
        file = f"model-{number:05}-of-{len(parts):05}.safetensors"
        weight_map |= dict.fromkeys(names, file)
        total += _write_shard(dest / file, {name: known[name] for name in names}, rng)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (dest / "model.safetensors.index.json").write_text(json.dumps(index) + "\n", encoding="utf-8")
    (dest / "config.json").write_text(
        json.dumps(_CONFIG | {"num_hidden_layers": layers}, indent=2) + "\n", encoding="utf-8"
    )
    return total


def _write_shard(path: Path, known: dict[str, tuple[int, ...]], rng: random.Random) -> int:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begins, end = {}, 0
    for name, shape in known.items():
        begins[name], end = end, end + 2 * prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begins[name], end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, begin in begins.items():
            if is_norm(name):
                file.seek(8 + len(text) + begin)
                file.write(norm_values(rng))
        file.truncate(8 + len(text) + end)
    return end


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
