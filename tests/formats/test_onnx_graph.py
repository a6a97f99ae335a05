import numpy as np
import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import onnx_graph
from ln_audit.formats.onnx_graph import GraphReader, Model, Node
from ln_audit.formats.protobuf import SHORT, Window
from tests.formats.onnx_models import BIAS, GAIN, const, helper, model, node, numpy_helper


def read(proto) -> Model:
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return GraphReader(Window(lambda begin, end: data[begin:end], len(data), "m.onnx"), "m.onnx").model()


ONE = model([node("LayerNormalization", "x g b", "y", name="ln", axis=-1, epsilon=0.5)], {"g": GAIN, "b": BIAS})


def test_nodes_tensors_and_operator_sets_are_read():
    found = read(ONE)
    attributes = {"axis": -1, "epsilon": 0.5}
    assert found.graph.nodes == [Node("ln", "LayerNormalization", "", ("x", "g", "b"), ("y",), attributes)]
    assert list(found.graph.tensors) == ["g", "b"]
    assert (found.opsets, found.functions) == ({"": 17}, 0)


def test_lists_of_numbers_are_read():
    (found,) = read(model([node("ReduceMean", "x", "y", axes=[-1, 300], keepdims=1)], {})).graph.nodes
    assert found.attributes == {"axes": [-1, 300], "keepdims": 1}


def test_a_tensor_inside_a_constant_node_has_the_name_of_its_output():
    value = numpy_helper.from_array(GAIN, "whatever")
    graph = read(model([node("Constant", "", "g", value=value), node("Mul", "x g", "y")], {})).graph
    assert (graph.tensors, graph.constants["g"].info.shape) == ({}, (6,))
    assert graph.tensor("g") == graph.constants["g"]


def test_the_branches_of_a_condition_see_the_names_around_them():
    then = helper.make_graph([node("Mul", "x g", "t")], "then", [], [], [numpy_helper.from_array(BIAS, "inner")])
    other = helper.make_graph([node("Identity", "x", "t")], "else", [], [])
    proto = model([node("If", "x", "y", then_branch=then, else_branch=other)], {"g": GAIN})
    outer = read(proto).graph
    assert [[n.op for n in graph.nodes] for graph in outer.walk()] == [["If"], ["Identity"], ["Mul"]]
    second, first = outer.branches  # attributes are written in alphabetical order
    assert first.tensor("g") == outer.tensors["g"]
    assert first.tensor("inner") == first.tensors["inner"]
    assert (second.tensor("inner"), outer.tensor("inner")) == (None, None)


def test_the_numbers_of_a_large_tensor_are_not_read():
    data = model(
        [node("MatMul", "x w", "y")], {"w": np.zeros((1_000, 1_000), np.float32), "g": GAIN}
    ).SerializeToString()
    read_bytes = 0

    def read_range(begin: int, end: int) -> bytes:
        nonlocal read_bytes
        read_bytes += end - begin
        return data[begin:end]

    found = GraphReader(Window(read_range, len(data), "m.onnx"), "m.onnx").model()
    assert list(found.graph.tensors) == ["w", "g"]
    assert read_bytes < 10 * SHORT < len(data) / 90


def test_a_model_cut_anywhere_is_refused():
    data = ONE.SerializeToString()
    for length in range(len(data)):
        with pytest.raises(FormatError):
            read(data[:length])


def test_bytes_behind_the_end_are_refused():
    with pytest.raises(FormatError):
        read(ONE.SerializeToString() + b"\0")


def test_two_graphs_are_refused():
    with pytest.raises(FormatError, match="expected one graph, found two$"):
        read(ONE.SerializeToString() * 2)


def test_a_domain_without_an_operator_set_is_refused():
    with pytest.raises(
        FormatError, match="(?m)expected operator sets of all domains in use, found none of 'com.microsoft'$"
    ):
        read(model([node("SkipLayerNormalization", "x x g", "y", "com.microsoft")], {"g": GAIN}))


def test_the_standards_own_domain_has_two_spellings():
    proto = model([node("Relu", "x", "y", "ai.onnx")], {})
    assert read(proto).graph.nodes[0].domain == ""
    proto.opset_import[0].domain = "ai.onnx"
    assert read(proto).opsets == {"": 17}


def test_two_makers_of_one_name_are_refused():
    with pytest.raises(FormatError, match=r"^m.onnx: node 'Relu_y': expected outputs of its own, found \['y'\] again$"):
        read(model([node("Relu", "x", "y"), node("Relu", "x", "y")], {}))


def test_two_tensors_of_one_name_are_refused():
    proto = model([node("Relu", "x", "y")], {"g": GAIN})
    proto.graph.initializer.append(proto.graph.initializer[0])
    with pytest.raises(FormatError, match="^m.onnx: expected one tensor of each name, found 'g' again$"):
        read(proto)


def test_a_node_without_an_operator_is_refused():
    proto = model([node("Relu", "x", "y")], {})
    proto.graph.node[0].op_type = ""
    with pytest.raises(FormatError, match="expected a node with an operator, found none$"):
        read(proto)


def test_functions_are_counted():
    proto = model([node("Relu", "x", "y")], {})
    proto.functions.add(name="f", domain="d")
    assert read(proto).functions == 1


def test_graphs_inside_graphs_have_an_end():
    graph = helper.make_graph([node("Relu", "x", "y")], "g", [], [])
    for _ in range(onnx_graph.MAX_DEPTH + 1):
        graph = helper.make_graph([node("Loop", "x", "y", body=graph)], "g", [], [])
    with pytest.raises(UnsupportedError, match="^m.onnx: expected graphs at most 8 deep, found them deeper$"):
        read(model(list(graph.node), {}))


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        ("MAX_FIELDS", "a graph of at most 3 fields"),
        ("MAX_NODES", "at most 3 nodes"),
        ("MAX_TENSORS", "at most 3 tensors"),
    ],
)
def test_what_would_take_long_or_much_memory_is_refused(monkeypatch, limit, found):
    proto = model([node("Relu", "x", f"y{i}") for i in range(4)], {f"w{i}": GAIN for i in range(4)} | const("c", 1))
    monkeypatch.setattr(onnx_graph, limit, 3)
    with pytest.raises(UnsupportedError, match=f"^m.onnx: expected {found}, found more$"):
        read(proto)


def test_a_rank_beyond_the_most_values_is_unknown(monkeypatch):
    monkeypatch.setattr(onnx_graph, "MAX_VALUES", 1)
    proto = model([node("Identity", "x", "y")], {})
    del proto.graph.input[:], proto.graph.output[:]
    proto.graph.value_info.extend(helper.make_tensor_value_info(name, 1, [2, 3]) for name in ("x", "y"))
    graph = read(proto).graph
    assert (graph.rank("x"), graph.rank("y"), graph.rank("z")) == (2, None, None)
