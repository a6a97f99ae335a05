"""Artifacts as files: one writer for each container, none of them ours to read with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.families.names_index import of_architecture
from scripts.source_faults.artifacts import architecture
from tests.formats import torch_files
from tests.formats.gguf_file import F32, STRING, U32, GgufFile, Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scripts.source_faults.artifacts import Artifact, Held
    from scripts.source_faults.models import Array

_GGUF_KINDS: Mapping[type, int] = {str: STRING, int: U32, float: F32}
_GGUF_DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def write(artifact: Artifact, folder: Path) -> str:
    """Write it into `folder`, and give the target to name."""
    folder.mkdir(parents=True)
    if artifact.container == "gguf":
        (folder / "model.gguf").write_bytes(_gguf(artifact))
        return str(folder / "model.gguf")
    (folder / "config.json").write_text(json.dumps(artifact.config), encoding="utf-8")
    if artifact.container == "safetensors":
        from safetensors.numpy import save_file

        save_file(dict(artifact.tensors), folder / "model.safetensors", {"format": "pt"})
        return str(folder)
    if artifact.container == "bin":
        (folder / "pytorch_model.bin").write_bytes(torch_files.save(torch_files.tensors(dict(artifact.tensors))))
        return str(folder)
    if artifact.container == "npz":
        np.savez(folder / "weights.npz", allow_pickle=False, **artifact.tensors)  # type: ignore[arg-type]
        return str(folder / "weights.npz")
    (folder / "model.onnx").write_bytes(_onnx(artifact))
    return str(folder / "model.onnx")


def _gguf(artifact: Artifact) -> bytes:
    family = artifact.model.spec.family
    own = architecture(family)
    names = of_architecture("gguf", own)
    assert names is not None
    facts: dict[str, Any] = {"general.architecture": own}
    keys = {**names.config, **names.optional}
    facts |= {theirs: artifact.config[ours] for ours, theirs in keys.items() if artifact.config.get(ours)}
    for ours, (above, below) in names.quotients.items():
        facts |= {above: 2 * artifact.config[ours], below: 2}
    if names.epsilon is not None:  # fixed in the model's code, and written all the same
        facts[names.epsilon] = 1e-5
    values = [
        (key, _GGUF_KINDS[type(value)], value)
        for key, value in (facts | dict(artifact.facts)).items()
        if value is not None
    ]
    made = [Tensor(n, _GGUF_DTYPES[a.dtype.name], a.shape, a.tobytes()) for n, a in artifact.tensors.items()]
    return GgufFile(values, made).whole()


def _onnx(artifact: Artifact) -> bytes:
    """A chain of the model's norms; a gain that the file stores without its 1 gets it from an Add, as exporters write it."""
    from onnx import TensorProto, helper

    initializers = [_initializer(name, array) for name, array in artifact.tensors.items()]
    initializers.append(_initializer("one", np.ones((), np.float32)))
    nodes: list[Any] = []
    for number, held in enumerate(artifact.held):
        if held.gain is not None and held.gain not in artifact.tensors:  # a norm that was left out is not computed
            nodes.append(helper.make_node("Identity", [f"x{number}"], [f"x{number + 1}"], name=f"/{number}/Identity"))
            continue
        _norm_nodes(nodes, initializers, held, number, artifact.tensors)
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("x0", f"x{len(artifact.held)}")]
    graph = helper.make_graph(nodes, "model", values[:1], values[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    return bytes(model.SerializeToString())


def _norm_nodes(
    nodes: list[Any], initializers: list[Any], held: Held, number: int, tensors: Mapping[str, Array]
) -> None:
    from onnx import helper

    if held.gain is None and held.norm.kind == "rms_norm":
        nodes.extend(_written_out(number, initializers, held))
        return
    gain = held.gain or f"ones{number}"
    if held.gain is None:
        initializers.append(_initializer(gain, np.ones(16, np.float32)))
    if held.lacks:
        nodes.append(helper.make_node("Add", [gain, "one"], [f"gain{number}"], name=f"/{held.norm.promised}/Add"))
        gain = f"gain{number}"
    inputs = [f"x{number}", gain] + ([held.bias] if held.bias in tensors else [])
    op = "LayerNormalization" if held.norm.kind == "layer_norm" else "RMSNormalization"
    written = {} if held.eps is None else {"epsilon": held.eps}
    nodes.append(helper.make_node(op, inputs, [f"x{number + 1}"], name=f"/{held.norm.promised}/{op}", **written))


def _written_out(number: int, initializers: list[Any], held: Held) -> list[Any]:
    """An RMSNorm without a gain, for which there is no operator: x / Sqrt(ReduceMean(x²) + ε)."""
    from onnx import helper

    x, parts = f"x{number}", [f"{part}{number}" for part in ("square", "mean", "sum", "root")]
    initializers.append(_initializer(f"eps{number}", np.array(held.eps or 0, np.float32)))
    initializers.append(_initializer(f"axes{number}", np.array([-1], np.int64)))
    chain = [
        ("Mul", [x, x], parts[0]), ("ReduceMean", [parts[0], f"axes{number}"], parts[1]), ("Add", [parts[1], f"eps{number}"], parts[2]),
        ("Sqrt", [parts[2]], parts[3]), ("Div", [x, parts[3]], f"x{number + 1}"),
    ]  # fmt: skip
    return [helper.make_node(op, inputs, [output], name=f"/{held.norm.promised}/{op}") for op, inputs, output in chain]


def _initializer(name: str, array: Array) -> Any:
    from onnx import TensorProto, helper

    kind = {
        "float32": TensorProto.FLOAT,
        "float16": TensorProto.FLOAT16,
        "bfloat16": TensorProto.BFLOAT16,
        "int64": TensorProto.INT64,
    }
    return helper.make_tensor(name, kind[array.dtype.name], array.shape, array.tobytes(), raw=True)
