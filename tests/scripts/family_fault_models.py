"""A recorded model that needs no torch: two layers of LayerNorm or RMSNorm by Llama's or GPT-2's names, run in NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

from scripts.family_faults.case import Case, case
from scripts.family_faults.recorded import RecordedModel, RecordedNorm, Rows
from scripts.family_faults.truth import reference

WIDTH, EPS = 16, 3e-5
GPT2 = [
    "transformer.h.0.ln_1",
    "transformer.h.0.ln_2",
    "transformer.h.1.ln_1",
    "transformer.h.1.ln_2",
    "transformer.ln_f",
]
LLAMA = [
    f"model.layers.{layer}.{which}_layernorm" for layer in (0, 1) for which in ("input", "post_attention")
] + ["model.norm"]  # fmt: skip
KINDS = {"gpt2": ("layer_norm", GPT2, "layer_norm_epsilon"), "llama": ("rms_norm", LLAMA, "rms_norm_eps")}


def model(family: str, folder: Path) -> RecordedModel:
    """The model in `folder`, as save_pretrained would leave its norms and embeddings, and its recorded norms."""
    kind, names, key = KINDS[family]
    rng = np.random.default_rng(3)
    tensors: dict[str, Any] = {}
    norms = []
    for order, name in enumerate(names):
        gain, bias = (rng.normal(middle, 0.3, WIDTH).astype("f4") for middle in (1, 0))
        tensors[f"{name}.weight"] = gain
        if kind == "layer_norm":
            tensors[f"{name}.bias"] = bias
        held = f"{name}.bias" if kind == "layer_norm" else None
        rows = {dtype: run(rng, kind, gain, bias if held else None, dtype) for dtype in ("float32", "bfloat16")}
        norms.append(RecordedNorm(name, name, f"{name}.weight", held, kind, 0.0, EPS, order, rows))
    embedding = "transformer.wte.weight" if family == "gpt2" else "model.embed_tokens.weight"
    tensors[embedding] = rng.normal(0, 1, (32, WIDTH)).astype("f4")
    sizes = ("n_embd", "n_layer") if family == "gpt2" else ("hidden_size", "num_hidden_layers")
    config = {"model_type": family, sizes[0]: WIDTH, sizes[1]: 2, key: EPS}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return RecordedModel(family, folder, tensors, config, tuple(norms))


def run(rng: Any, kind: str, gain: Any, bias: Any, dtype: str) -> Rows:
    """Rows of a small variance, so that they show epsilon, and what a norm in float64 makes of them."""
    narrow = np.dtype(dtype) if dtype == "float32" else np.dtype(ml_dtypes.bfloat16)
    before = rng.normal(0.01, 0.03, (2, 12, WIDTH)).astype(narrow)
    held = [None if each is None else each.astype(narrow).astype("f8") for each in (gain, bias)]
    z = reference(before, kind, EPS)
    if dtype != "float32" and kind == "rms_norm":
        z = z.astype(narrow).astype("f8")
    after = z * held[0] + (0 if held[1] is None else held[1])
    return Rows(before, after.astype(narrow))


def made_case(family: str, folder: Path) -> Case:
    """The model with its audit."""
    from ln_audit.audit import audit
    from ln_audit.demand import Demand

    made = model(family, folder)
    report, *_ = audit(str(folder), Demand())
    return case(made, report)
