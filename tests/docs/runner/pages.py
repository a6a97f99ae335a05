"""What each page finds in its folder: small models under natural names, made from fixtures/ and from the families' own tables.

A page that is not here has a test of its own (tests/docs/test_<page>_page.py) or holds no block that runs.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from safetensors.numpy import load_file, save_file

from scripts.source_faults import faults
from scripts.source_faults.artifacts import converted
from scripts.source_faults.models import SPECS, build
from scripts.source_faults.writers import write
from tests.formats.gguf_file import F32, STRING, U32, GgufFile, Tensor
from tests.shared import FIXTURES, ROOT
from tests.test_seven_containers import gguf, gguf_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from scripts.source_faults.artifacts import Artifact


@dataclass(frozen=True)
class Setup:
    """What a page needs. `fill` puts files into its folder and may give names to its Python blocks.

    `env`: environment variables, with `{folder}` for the page's folder. `elsewhere`: commands, and the first lines of code, that
    another test runs, with that test.
    """

    fill: Callable[[Path], Mapping[str, Any] | None] = lambda _: None
    peers: bool = False  # needs torch, transformers or onnxruntime
    env: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def _write(artifact: Artifact, target: Path) -> None:
    """An artifact as `target`: a folder, or the one file of a container that is one."""
    made = target.with_name(f".{target.name}")
    file = write(artifact, made)
    if file.endswith((".gguf", ".onnx")):
        shutil.move(file, target)
        made.rmdir()
    else:
        made.rename(target)


def _planted(fault: Callable[[Artifact], faults.Planted | None], artifact: Artifact) -> Artifact:
    made = fault(artifact)
    assert made is not None, "this artifact cannot have it"
    return made.artifact


def first_minutes(folder: Path) -> None:
    """A GPT-2 that is right, and one whose final norm has no bias any more."""
    model = build(SPECS["gpt2"])
    _write(converted(model, "safetensors"), folder / "my-model")
    whole = converted(model, "safetensors")
    _write(whole.with_tensors({"transformer.ln_f.bias": None}), folder / "broken-model")


def library(folder: Path) -> None:
    """A GPT-2 with a recording."""
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", folder / "my-model")
    shutil.copy(folder / "my-model" / "run.safetensors", folder / "run.safetensors")


def to_gguf(folder: Path) -> None:
    """A Gemma 2; its GGUF by a converter that left the 1 out, and by one that did not."""
    model = build(SPECS["gemma2"])
    right = converted(model, "gguf")
    _write(converted(model, "safetensors"), folder / "model")
    _write(_planted(faults.never_applied, right), folder / "model.gguf")
    _write(right, folder / "again.gguf")


def quantized(folder: Path) -> None:
    """A GPT-2 of one layer, a Q8_0 GGUF in which the final norm was quantized too, one in which it was not, and a truncated twin."""
    rng = np.random.default_rng(9)
    shapes = {"wte": (64, 32), "wpe": (4, 32), "h.0.attn.c_attn": (32, 96), "h.0.mlp.c_fc": (32, 96)}
    tensors = {f"{name}.weight": rng.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}
    for norm in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        tensors[f"{norm}.weight"] = np.exp(rng.normal(0, 0.3, 32)).astype(np.float32)
        tensors[f"{norm}.bias"] = rng.normal(0, 0.1, 32).astype(np.float32)
    _folder(folder / "model", tensors)
    named = gguf_names(tensors) | {"blk.0.attn_qkv.weight": tensors["h.0.attn.c_attn.weight"]}
    matrices = {name for name, array in named.items() if array.ndim == 2}
    (folder / "model-Q8_0.gguf").write_bytes(_q8_0(named, matrices | {"output_norm.weight"}))
    (folder / "again-Q8_0.gguf").write_bytes(_q8_0(named, matrices))
    norms = {name for name in tensors if ".ln_" in f".{name}"}
    cut = {name: (tensors[name].view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32) for name in norms}
    narrow = ml_dtypes.bfloat16
    _folder(folder / "truncated", {name: cut.get(name, array).astype(narrow) for name, array in tensors.items()})
    _folder(folder / "rounded", {name: array.astype(narrow) for name, array in tensors.items()})


def _folder(target: Path, tensors: Mapping[str, np.ndarray]) -> None:
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 32, "n_layer": 1, "n_head": 2}
    config |= {"n_positions": 4, "vocab_size": 64, "layer_norm_epsilon": 1e-5}
    target.mkdir()
    save_file({f"transformer.{name}": array for name, array in tensors.items()}, target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(config))


def _q8_0(tensors: Mapping[str, np.ndarray], quantized: set[str]) -> bytes:
    """A GGUF file, these tensors in blocks of 32 signed bytes behind a float16 scale."""
    made = []
    for name, array in tensors.items():
        if name not in quantized:
            made.append(Tensor(name, "F32", array.shape, array.tobytes()))
            continue
        blocks = array.reshape(-1, 32)
        scale = (np.abs(blocks).max(axis=1, keepdims=True) / 127).astype(np.float16)
        whole = np.rint(blocks / scale.astype(np.float32)).clip(-127, 127).astype(np.int8)
        made.append(Tensor(name, "Q8_0", array.shape, np.hstack([scale.view(np.int8), whole]).tobytes()))
    values: list[tuple[str, int, object]] = [
        ("general.architecture", STRING, "gpt2"), ("gpt2.embedding_length", U32, 32), ("gpt2.block_count", U32, 1),
        ("gpt2.attention.layer_norm_epsilon", F32, 1e-5),
    ]  # fmt: skip
    return GgufFile(values, made).whole()


def trained(folder: Path) -> None:
    """A base model, a checkpoint trained from it, and what was published of it by mistake: a shard as if it were whole."""
    _write(converted(build(SPECS["llama"]), "safetensors"), folder / "base")
    step = converted(build(SPECS["llama"]), "safetensors")
    rng = np.random.default_rng(5)
    moved = {name: (a * (1 + rng.normal(0, 0.01, a.shape))).astype(np.float32) for name, a in step.tensors.items()}
    _write(step.with_tensors(moved), folder / "checkpoint-100")
    _write(_planted(faults.missing, step.with_tensors(moved)), folder / "published")


def hidden_states(folder: Path) -> None:
    """The sample's recording, and that of an untrained stack."""
    shutil.copy(ROOT / "ln_audit" / "assets" / "sample" / "recording.safetensors", folder / "run.safetensors")
    shutil.copy(FIXTURES / "recordings" / "prenorm-stack.safetensors", folder / "stack.safetensors")


def company(folder: Path) -> None:
    """Two models that are right, and a third whose last shard was never uploaded."""
    for number, family in enumerate(("llama", "qwen3_next")):
        _write(converted(build(SPECS[family]), "safetensors"), folder / "models" / ("chat", "embed")[number])
    _write(
        _planted(faults.missing, converted(build(SPECS["llama"], seed=2), "safetensors")), folder / "models" / "draft"
    )


def exit_codes(folder: Path) -> None:
    """A model that is right, one that is wrong, and one that is cut short."""
    right = converted(build(SPECS["gpt2"]), "safetensors")
    _write(right, folder / "model")
    _write(_planted(faults.not_a_number, right), folder / "broken")
    shutil.copytree(folder / "model", folder / "cut-short")
    file = folder / "cut-short" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def gifts(folder: Path) -> None:
    """A model from a stranger, with a NaN in it."""
    _write(_planted(faults.not_a_number, converted(build(SPECS["gpt2"]), "safetensors")), folder / "gift")


def recorded(folder: Path) -> None:
    """`path/to/folder` with its recording, and the same as GGUF."""
    (folder / "path" / "to").mkdir(parents=True)
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", folder / "path" / "to" / "folder")
    gguf(folder / "path" / "to")


def mine(folder: Path) -> None:
    """A model of a family that nobody knows, like Llama."""
    names = [f"layers.{i}.{norm}_layernorm" for i in (0, 1) for norm in ("input", "post_attention")]
    gain = np.linspace(0.5, 1.5, 8, dtype=np.float32)
    tensors = {f"model.{name}.weight": gain + at for at, name in enumerate([*names, "norm"])}
    here = folder / "path" / "to" / "folder"
    here.mkdir(parents=True)
    save_file(tensors | {"model.embed_tokens.weight": np.ones((16, 8), np.float32)}, here / "model.safetensors")
    written = {"model_type": "mine", "hidden_size": 8, "num_hidden_layers": 2, "rms_norm_eps": 1e-6}
    (here / "config.json").write_text(json.dumps(written))


def recording(folder: Path) -> Mapping[str, Any]:
    """A tiny Llama as transformers saves it, its ONNX export, and what the Python blocks speak of."""
    import onnxruntime
    import torch
    from onnx import TensorProto, helper

    from tests.peers.onnx_exports import exported
    from tests.peers.torch_models import saved, tiny

    saved("llama", folder / "path" / "to" / "folder")
    exported(folder / "path" / "to")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in ("read", "given")]
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [8], [1.0] * 8)
    nodes = [helper.make_node("LayerNormalization", ["read", "scale"], ["given"])]
    graph = helper.make_graph(nodes, "g", values[:1], [values[1], values[0]], [scale])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    rows: Any = torch.randn(4, 8)
    return {
        "model": tiny("llama"), "tokens": torch.arange(20)[None], "rows": rows, "session": session,
        "inputs": {"read": rows.numpy()}, "norm": torch.nn.RMSNorm(8, eps=1e-6),
    }  # fmt: skip


def checkout(folder: Path) -> None:
    """A copy of this project, for pages whose steps change it."""
    for part in ("ln_audit", "tests", "fixtures", "scripts"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / part, folder / part)


def readme(folder: Path) -> Mapping[str, Any]:
    """What README's placeholders stand for, and the names of its assert."""
    good = FIXTURES / "good"
    for place in ("path/to/folder", "path/to/artifact"):
        shutil.copytree(good / "gpt2-recorded", folder / place)
    shutil.copytree(good / "gpt2-safetensors", folder / "other")
    shutil.copytree(FIXTURES / "recordings", folder / "fixtures" / "recordings")
    shutil.copy(good / "gpt2-recorded" / "run.safetensors", folder)
    for name, array in load_file(folder / "run.safetensors").items():
        np.save(folder / f"{name}.npy", array)
    rng = np.random.default_rng(7)
    x, gain, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 16), 16, 16))

    def kernel(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * gain + bias

    return {"x": x, "gain": gain, "bias": bias, "kernel": kernel}


README_ELSEWHERE = {
    "ln-audit verify gpt2": "tests/test_verify_hub.py::test_verify_gpt2_costs_six_requests_and_says_what_it_read",
    "ln-audit verify org/name@revision": "tests/test_verify_hub.py::test_a_model_on_the_hub_passes_by_branch_commit_and_file",
    "ln-audit verify https://host/path/model.safetensors": "tests/test_verify_hub.py::test_a_file_on_any_web_server",
    "ln-audit record path/to/folder --random 64 -o run.safetensors": "tests/peers/test_readme_record.py::test_the_commands_that_run_a_model_pass_one_after_the_other",
    "ln-audit verify path/to/folder --record": "tests/peers/test_readme_record.py::test_the_commands_that_run_a_model_pass_one_after_the_other",
    "import ln_audit": "tests/peers/test_readme_record.py::test_the_code_records_what_verify_passes",
}
CHECKOUT = {"PYTHONPATH": "{folder}", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
PAGES: Mapping[str, Setup] = {
    "README.md": Setup(readme, elsewhere=README_ELSEWHERE),
    "docs/index.md": Setup(),
    "docs/first-ten-minutes.md": Setup(first_minutes),
    "docs/library.md": Setup(library),
    "docs/reports.md": Setup(),
    "docs/jobs/gguf.md": Setup(to_gguf),
    "docs/jobs/quantize.md": Setup(quantized),
    "docs/jobs/train-and-publish.md": Setup(trained),
    "docs/jobs/kernels.md": Setup(),
    "docs/jobs/hidden-states.md": Setup(hidden_states),
    "docs/jobs/company-gate.md": Setup(company),
    "docs/exit-codes.md": Setup(exit_codes),
    "docs/json.md": Setup(exit_codes),
    "docs/security.md": Setup(gifts),
    "docs/numerics.md": Setup(),
    "docs/lockfile.md": Setup(recorded),
    "docs/families.md": Setup(mine),
    "docs/recording.md": Setup(recording, peers=True),
    "docs/extend/check.md": Setup(checkout, env=CHECKOUT),
    "docs/extend/format.md": Setup(checkout, env=CHECKOUT),
    "docs/extend/family.md": Setup(checkout, env=CHECKOUT),
    "docs/extend/report.md": Setup(checkout, env=CHECKOUT),
    "docs/extend/hypothesis.md": Setup(checkout, env=CHECKOUT),
    "docs/extend/source.md": Setup(checkout, env=CHECKOUT),
}
