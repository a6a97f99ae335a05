"""ONNX models of a few nodes, written by the onnx package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

onnx = pytest.importorskip("onnx", reason="needs the onnx package: the extra of the same name")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

GAIN, BIAS = np.linspace(0.5, 2, 6, dtype=np.float32), np.linspace(-1, 1, 6, dtype=np.float32)


def node(op: str, inputs: str, output: str, domain: str = "", name: str = "", **attributes: Any) -> Any:
    return helper.make_node(op, inputs.split(), [output], name=name or f"{op}_{output}", domain=domain, **attributes)


def const(name: str, value: Any, dtype: str = "float32") -> dict[str, np.ndarray]:
    return {name: np.array(value, dtype)}


def model(nodes: Sequence[Any], tensors: Mapping[str, np.ndarray], opset: int = 17, **more: Any) -> Any:
    """A model whose input is x and whose output is y."""
    values = [helper.make_tensor_value_info(name, 1, None) for name in ("x", "y")]
    initializers = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], initializers)
    opsets = [helper.make_opsetid(domain, version) for domain, version in ({"": opset} | more).items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def layer_norm(eps: Any, dtype: str = "float32", **tensors: np.ndarray) -> tuple[list[Any], dict[str, np.ndarray]]:
    """The nine operations that exporters write below opset 17: nodes and tensors."""
    mean: dict[str, Any] = {"axes": [-1], "keepdims": 1}
    nodes = [
        node("ReduceMean", "x", "mu", **mean),
        node("Sub", "x mu", "c"),
        node("Pow", "c two", "c2"),
        node("ReduceMean", "c2", "var", **mean),
        node("Add", "var eps", "ve"),
        node("Sqrt", "ve", "sd"),
        node("Div", "c sd", "z"),
        node("Mul", "z g", "zg"),
        node("Add", "zg b", "y"),
    ]
    parts = {"g": GAIN.astype(dtype), "b": BIAS.astype(dtype)} | const("two", 2, dtype) | const("eps", eps, dtype)
    return nodes, parts | tensors
