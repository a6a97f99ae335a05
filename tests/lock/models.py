"""Small models in several containers, and locks of them, for the tests of the lockfile."""

import json
from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.lock.schema import Lock
from ln_audit.locking import made
from ln_audit.result import Finding, Report
from tests.test_seven_containers import CONFIG, TENSORS

Tensors = Mapping[str, np.ndarray]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def folder(path: Path, tensors: Tensors = TENSORS, config: object = CONFIG, metadata: dict | None = None) -> str:
    """A safetensors model."""
    path.mkdir(exist_ok=True)
    save_file(dict(tensors), path / "model.safetensors", metadata)
    (path / "config.json").write_text(json.dumps(config))
    return str(path)


def lock(target: str, **demand: object) -> Lock:
    """The lock of a target that passes."""
    locking = made(target, Demand(values="all", **demand))  # type: ignore[arg-type]
    assert locking.lock is not None, [f for f in locking.report.findings if f.status in ("fail", "skip")]
    return locking.lock


def held(target: str, locked: Lock, **demand: object) -> Report:
    """The report on a target that is held to a lock."""
    (report,) = audit(target, Demand(lock="ln-audit.lock", locked=locked, **demand))  # type: ignore[arg-type]
    return report


def said(report: Report, status: str) -> list[Finding]:
    """What lock-mismatch says with a status."""
    return [finding for finding in report.findings if finding.rule == "LN302" and finding.status == status]


NEMOTRON = {
    "model_type": "nemotron", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16,
    "norm_eps": 1e-5,
}  # fmt: skip


def nemotron(seed: int = 3) -> dict[str, np.ndarray]:
    """A model whose files hold gain − 1."""
    rng = np.random.default_rng(seed)
    names = ["model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm", "model.norm"]
    made = {f"{name}.{leaf}": rng.normal(0, 0.2, 8).astype(np.float32) for name in names for leaf in ("weight", "bias")}
    return made | {"model.embed_tokens.weight": np.ones((16, 8), np.float32)}


def nemotron_gguf(tensors: Tensors, path: Path, plus: float = 1.0) -> str:
    """The same as llama.cpp writes it: names of its own, gains with the 1 added."""
    from tests.test_seven_containers import gguf_file

    names = {
        "model.layers.0.input_layernorm": "blk.0.attn_norm",
        "model.layers.0.post_attention_layernorm": "blk.0.ffn_norm",
        "model.norm": "output_norm",
        "model.embed_tokens": "token_embd",
    }
    renamed = {}
    for name, values in tensors.items():
        stem, _, leaf = name.rpartition(".")
        added = np.float32(plus) if leaf == "weight" and "norm" in stem else np.float32(0)
        renamed[f"{names[stem]}.{leaf}"] = values.astype(np.float32) + added
    facts = {
        "general.architecture": "nemotron", "nemotron.embedding_length": 8, "nemotron.block_count": 1,
        "nemotron.attention.head_count": 2, "nemotron.attention.layer_norm_epsilon": np.float32(1e-5),
    }  # fmt: skip
    path.write_bytes(gguf_file(facts, renamed))
    return str(path)
