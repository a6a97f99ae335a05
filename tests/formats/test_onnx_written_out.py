from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import NormSite
from ln_audit.formats import onnx
from tests.formats.memory_source import MemorySource
from tests.formats.onnx_models import BIAS, GAIN, const, layer_norm, model, node, numpy_helper

AXIS: dict[str, Any] = {"axes": [-1], "keepdims": 1}
CONSTANTS = const("eps", 1e-6) | const("two", 2) | const("half", 0.5) | const("minus_half", -0.5) | const("one", 1)
TENSORS = {"g": GAIN, "b": BIAS} | CONSTANTS


def sites(nodes, tensors=TENSORS, opset=13) -> list[NormSite]:
    files = {"m.onnx": model(nodes, tensors, opset).SerializeToString()}
    return list(onnx.read_checkpoint(MemorySource(files), "m.onnx").norm_sites)


def found(nodes, tensors=TENSORS, opset=13) -> list[tuple]:
    return [(s.kind, s.gain, s.bias, s.eps) for s in sites(nodes, tensors, opset)]


def test_a_layer_norm_of_nine_operations_is_one_norm():
    assert sites(*layer_norm(1e-5)) == [
        NormSite("g", "layer_norm", "g", "b", 1e-5, "m.onnx: F32 constant 'eps' of node 'Add_ve'")
    ]


def test_an_epsilon_that_is_too_small_for_its_dtype_is_zero():
    assert sites(*layer_norm(1e-8, "float16")) == [
        NormSite("g", "layer_norm", "g", "b", 0.0, "m.onnx: F16 constant 'eps' of node 'Add_ve'")
    ]


@pytest.mark.parametrize(
    ("dtype", "eps"), [("float16", 1e-5), ("float16", 1e-6), ("float64", 1e-12), ("float32", 3e-7)]
)
def test_an_epsilon_is_the_shortest_decimal_of_its_dtype(dtype, eps):
    assert [s.eps for s in sites(*layer_norm(eps, dtype))] == [eps]


def test_an_epsilon_in_bfloat16_is_read():
    nodes, tensors = layer_norm(1e-5)
    assert [s.eps for s in sites(nodes, tensors | {"eps": np.array(1e-5, ml_dtypes.bfloat16)})] == [1e-5]


def test_a_cast_on_the_way_to_the_root_rounds_epsilon():
    nodes, tensors = layer_norm(1e-8)
    nodes[4:5] = [node("Cast", "eps", "e16", to=10), node("Add", "var e16", "ve")]
    assert [(s.eps, s.eps_where) for s in sites(nodes, tensors)] == [
        (0.0, "m.onnx: F16 constant 'eps' of node 'Add_ve'")
    ]


def test_an_epsilon_that_is_no_constant_is_unknown():
    nodes, tensors = layer_norm(1e-5)
    nodes[4] = node("Add", "var x", "ve")
    assert [(s.eps, s.eps_where) for s in sites(nodes, tensors)] == [(None, "m.onnx: node 'Add_ve' adds no constant")]


def test_a_root_without_an_addition_has_epsilon_zero():
    nodes, tensors = layer_norm(1e-5)
    nodes[4:6] = [node("Sqrt", "var", "sd")]
    assert [(s.eps, s.eps_where) for s in sites(nodes, tensors)] == [
        (0.0, "m.onnx: nothing is added before node 'Sqrt_sd'")
    ]


def test_an_epsilon_in_a_constant_node_is_read():
    nodes, tensors = layer_norm(1e-5)
    nodes.insert(0, node("Constant", "", "k", value=numpy_helper.from_array(np.array([1e-4], np.float32), "")))
    nodes.insert(0, node("Constant", "", "f", value_float=2.0))
    nodes[4], nodes[6] = node("Pow", "c f", "c2"), node("Add", "k var", "ve")
    assert [(s.eps, s.gain) for s in sites(nodes, tensors)] == [(1e-4, "g")]


RMS = [
    node("Cast", "x", "x32", to=1),
    node("Pow", "x32 two", "sq"),
    node("ReduceMean", "sq", "ms", **AXIS),
    node("Add", "ms eps", "ve"),
]
ROOTS = {
    "Div(1, Sqrt)": [node("Sqrt", "ve", "s"), node("Div", "one s", "r")],
    "Reciprocal(Sqrt)": [node("Sqrt", "ve", "s"), node("Reciprocal", "s", "r")],
    "Pow(-0.5)": [node("Pow", "ve minus_half", "r")],
    "Reciprocal(Pow(0.5))": [node("Pow", "ve half", "s"), node("Reciprocal", "s", "r")],
}


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_an_rms_norm_with_casts_as_llama_has_it(root):
    tail = [node("Mul", "x32 r", "z32"), node("Cast", "z32", "z", to=10), node("Mul", "g z", "y")]
    assert found(RMS + root + tail) == [("rms_norm", "g", None, 1e-6)]


def test_an_rms_norm_that_divides_by_the_root():
    assert found([*RMS, node("Sqrt", "ve", "s"), node("Div", "x32 s", "z"), node("Mul", "z g", "y")]) == [
        ("rms_norm", "g", None, 1e-6)
    ]


def test_gemmas_one_more_than_the_weight():
    tail = [node("Mul", "x32 r", "z"), node("Add", "one g", "g1"), node("Mul", "z g1", "y")]
    assert found(RMS + ROOTS["Pow(-0.5)"] + tail) == [("rms_norm", "g", None, 1e-6)]


def test_a_square_as_a_product_and_axes_as_an_input_as_opset_18_has_them():
    axes = const("axes", [-1], "int64")
    nodes = [
        node("ReduceMean", "x axes", "mu"),
        node("Sub", "x mu", "c"),
        node("Mul", "c c", "c2"),
        node("ReduceMean", "c2 axes", "var"),
        *layer_norm(0)[0][4:],
    ]
    assert found(nodes, TENSORS | axes, 18) == [("layer_norm", "g", "b", 1e-6)]


def test_tensorflows_order_gain_into_the_root_and_mean_off_last():
    nodes = [
        node("ReduceMean", "x", "mu", **AXIS),
        node("Sub", "x mu", "c"),
        node("Mul", "c c", "c2"),
        node("ReduceMean", "c2", "var", **AXIS),
        node("Add", "var eps", "ve"),
        node("Sqrt", "ve", "s"),
        node("Reciprocal", "s", "r"),
        node("Mul", "r g", "rg"),
        node("Mul", "x rg", "xrg"),
        node("Mul", "mu rg", "mrg"),
        node("Sub", "b mrg", "rest"),
        node("Add", "xrg rest", "y"),
    ]
    assert found(nodes) == [("layer_norm", "g", "b", 1e-6)]


def test_a_difference_taken_twice_is_the_same_difference():
    nodes, tensors = layer_norm(1e-6)
    nodes[6:7] = [node("Sub", "x mu", "again"), node("Div", "again sd", "z")]
    assert found(nodes, tensors) == [("layer_norm", "g", "b", 1e-6)]


def test_a_norm_without_parameters_has_none():
    nodes, tensors = layer_norm(1e-6)
    assert found([*nodes[:6], node("Div", "c sd", "y")], tensors) == [("layer_norm", None, None, 1e-6)]


def test_what_is_added_behind_the_norm_is_no_bias_unless_it_is_as_wide():
    nodes, tensors = layer_norm(1e-6, b=np.zeros((4, 6), np.float32))
    assert found(nodes, tensors) == [("layer_norm", "g", None, 1e-6)]


def test_a_standard_deviation_alone_is_no_norm():
    nodes, tensors = layer_norm(1e-6)
    assert found([*nodes[:6], node("Relu", "sd", "y")], tensors) == []


def test_a_mean_of_squares_that_divides_something_else_is_no_norm():
    nodes, tensors = layer_norm(1e-6)
    assert found([*nodes[:6], node("Div", "other sd", "y")], tensors | const("other", [1, 2, 3])) == []


@pytest.mark.parametrize("axes", [[0, 2, 3], [2, 3]])
def test_a_mean_over_several_axes_is_another_kind_of_norm(axes):
    nodes, tensors = layer_norm(1e-6)
    nodes[3] = node("ReduceMean", "c2", "var", axes=axes)
    assert found(nodes, tensors) == []


def test_a_mean_of_cubes_is_none():
    nodes, tensors = layer_norm(1e-6)
    assert found(nodes, tensors | const("two", 3)) == []


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Identity", "a", "a")],
        [node("Cast", "b", "a", to=1), node("Cast", "a", "b", to=1)],
        [node("Cast", "a", f"a{i}", to=1) for i in range(500)] + [node("Identity", "a7", "a")],
    ],
)
def test_a_graph_that_goes_round_in_circles_comes_to_an_end(nodes):
    tail = [
        node("Pow", "a a", "sq"),
        node("ReduceMean", "a", "ms", **AXIS),
        node("Mul", "a a", "s2"),
        node("ReduceMean", "s2", "m2", **AXIS),
    ]
    assert found(nodes + tail) == []


def test_what_a_norm_of_nine_operations_reads_and_gives():
    nodes, tensors = layer_norm(1e-5)
    assert [(site.reads, site.gives) for site in sites(nodes, tensors)] == [("x", "y")]
    assert [(site.reads, site.gives) for site in sites(nodes[:-1], tensors)] == [("x", "zg")]
