"""The same tensors in every container give the same norms, the same value digests and the same verdict."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.result import Report
from tests.formats import tf_writer, torch_files
from tests.formats.gguf_file import F32, STRING, U32, GgufFile, Tensor
from tests.shared import FIXTURES, needs

GOOD = FIXTURES / "good" / "gpt2-recorded"
TENSORS = {name.removeprefix("transformer."): array for name, array in load_file(GOOD / "model.safetensors").items()}
CONFIG = json.loads((GOOD / "config.json").read_text())
RUN = str(GOOD / "run.safetensors")


def gguf_names(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    renamed = {}
    for name, array in tensors.items():
        stem, _, leaf = name.rpartition(".")
        parts = stem.split(".")
        if parts[0] == "h" and parts[2] in ("ln_1", "ln_2"):
            stem = f"blk.{parts[1]}.{'attn_norm' if parts[2] == 'ln_1' else 'ffn_norm'}"
        stem = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}.get(stem, stem)
        if not stem.startswith("h."):
            renamed[f"{stem}.{leaf}"] = array
    return renamed


def tf_names(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    renamed = {}
    for name, array in tensors.items():
        stem, _, leaf = name.rpartition(".")
        if stem in ("wte", "wpe"):
            renamed[f"model/{stem}"] = array
        elif "ln_" in stem:
            renamed[f"model/{stem.replace('h.', 'h').replace('.', '/')}/{'g' if leaf == 'weight' else 'b'}"] = array
    return renamed


def safetensors(folder: Path) -> str:
    save_file(TENSORS, folder / "model.safetensors")
    return str(folder)


def pytorch(folder: Path) -> str:
    (folder / "pytorch_model.bin").write_bytes(torch_files.save(torch_files.tensors(TENSORS)))
    return str(folder)


def pytorch_legacy(folder: Path) -> str:
    (folder / "pytorch_model.bin").write_bytes(torch_files.save_legacy(torch_files.tensors(TENSORS)))
    return str(folder)


def npz(folder: Path) -> str:
    np.savez(folder / "weights.npz", **TENSORS)
    return str(folder / "weights.npz")


def npy_folder(folder: Path) -> str:
    for name, array in TENSORS.items():
        np.save(folder / f"{name}.npy", array)
    return str(folder)


def flax(folder: Path) -> str:
    renamed = {
        f"params/transformer/{name.replace('.', '/').replace('/weight', '/scale') if 'ln_' in name else name.replace('.', '/')}": a
        for name, a in TENSORS.items()
    }
    np.savez(folder / "flax.npz", **renamed)
    return str(folder / "flax.npz")


def tensorflow(folder: Path) -> str:
    for name, data in tf_writer.checkpoint(tf_names(TENSORS)).items():
        (folder / name).write_bytes(data)
    return str(folder)


def gguf(folder: Path) -> str:
    facts = {
        "general.architecture": "gpt2", "gpt2.embedding_length": 8, "gpt2.block_count": 2,
        "gpt2.attention.layer_norm_epsilon": np.float32(1e-5),
    }  # fmt: skip
    (folder / "model.gguf").write_bytes(gguf_file(facts, gguf_names(TENSORS)))
    return str(folder / "model.gguf")


def gguf_file(facts: dict, tensors: dict[str, np.ndarray]) -> bytes:
    kinds = {str: STRING, int: U32, np.float32: F32}
    values = [(key, kinds[type(value)], value) for key, value in facts.items()]
    made = [Tensor(name, "F32", array.shape, array.tobytes()) for name, array in tensors.items()]
    return GgufFile(values, made).whole()


CONTAINERS = [safetensors, pytorch, pytorch_legacy, npz, npy_folder, flax, tensorflow, gguf]


def digests(report: Report) -> dict[str, str | None]:
    return {f"{e.norm.promised}.{t.role}": t.value_sha256 for e in report.norms for t in e.tensors}


@pytest.mark.parametrize("write", CONTAINERS, ids=lambda write: write.__name__)
def test_the_same_tensors_give_the_same_norms_and_verdict(write, tmp_path):
    (reference,) = audit(str(GOOD), Demand(recordings=(RUN,)))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    target = write(tmp_path)
    (report,) = audit(target, Demand(recordings=(RUN,)))
    assert report.error is None
    assert digests(report) == digests(reference)
    assert report.parameters.final_norm == reference.parameters.final_norm == 16
    assert report.parameters.all_norms == reference.parameters.all_norms == 80
    assert (report.verdict, [c.status for c in report.comparisons]) == (reference.verdict, ["pass"])


def test_openais_own_index_gives_the_published_gpt2_small(tmp_path):
    tool = needs("tools", "make_gpt2_layout.py")
    subprocess.run([sys.executable, str(tool), "--tf", str(tmp_path)], check=True, timeout=100)
    (report,) = audit(str(tmp_path), Demand())
    assert report.error is None
    assert (report.verdict.word, report.checkpoint and report.checkpoint.format) == ("pass", "tensorflow")
    assert (report.parameters.final_norm, report.parameters.all_norms, report.parameters.checkpoint) == (
        1536,
        38_400,
        124_439_808,
    )
    assert "bit for bit the published values (50 of 50 tensors read)" in [f.message for f in report.findings]


@pytest.mark.parametrize("big", [False, True])
def test_a_norm_that_was_quantized_by_accident_is_read_all_the_same_and_fails_by_its_dtype(big, tmp_path):
    pytest.importorskip("gguf", reason="the gguf package is not installed")
    facts = {
        "general.architecture": "gpt2", "gpt2.embedding_length": 32, "gpt2.block_count": 1,
        "gpt2.attention.layer_norm_epsilon": np.float32(1e-5),
    }  # fmt: skip
    kinds = {str: STRING, int: U32, np.float32: F32}
    bias = np.linspace(-1, 1, 32).astype(">f4" if big else "<f4")
    scaled = np.float16(0.5).astype(">f2" if big else "<f2").tobytes() + bytes(range(1, 33))  # gains 0.5, 1.0, … 16.0
    made = [
        Tensor("output_norm.weight", "Q8_0", (32,), scaled),
        Tensor("output_norm.bias", "F32", (32,), bias.tobytes()),
    ]
    values = [(key, kinds[type(value)], value) for key, value in facts.items()]
    (tmp_path / "m.gguf").write_bytes(GgufFile(values, made, order=">" if big else "<").whole())
    (report,) = audit(str(tmp_path / "m.gguf"), Demand())
    gain = report.norms[-1].tensors[0]
    assert (gain.dtype, gain.sha256, gain.value_sha256) == ("Q8_0", None, None)
    assert gain.max == (None if big else 16.0)
    assert "a quantized norm: leave the norms out of quantization and convert again" in {
        f.reason for f in report.findings
    }
    assert report.verdict.word == "fail"
