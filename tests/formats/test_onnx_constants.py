import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Range
from ln_audit.formats.onnx_constants import MAX_STEPS, Constants, Scalar, shortest
from ln_audit.formats.onnx_graph import Graph, Node
from ln_audit.formats.onnx_tensor import Tensor

VALUES = {"eps": np.array([1e-5], np.float32), "axes": np.array([-1, 2]), "gain": np.ones(6, np.float32)}
DTYPES = {"eps": "F32", "axes": "I64", "gain": "F32"}


def node(op: str, inputs: str, output: str, **attributes: float) -> Node:
    return Node(f"{op} {output}", op, "", tuple(inputs.split()), (output,), attributes)


def names(*nodes: Node, outer: Constants | None = None) -> Constants:
    tensors = (
        {n: Tensor(n, DTYPES[n], v.shape, v.nbytes, "m", Range(0, 0)) for n, v in VALUES.items()}
        if outer is None
        else {}
    )
    graph = Graph(outer.graph if outer else None, list(nodes), tensors)
    return Constants(graph, lambda tensor: VALUES[tensor.name], outer)


@pytest.mark.parametrize(
    ("value", "decimal"),
    [
        (np.float32(1e-5), 1e-5),
        (np.float32(1e-12), 1e-12),
        (np.float32(1) / 3, 0.33333334),
        (np.float16(1e-5), 1e-5),
        (np.float16(1e-8), 0.0),
        (np.float64(1e-5), 1e-5),
        (np.float64(0.1) + 0.2, 0.30000000000000004),
        (ml_dtypes.bfloat16(1e-6), 1e-6),
        (np.int64(2), 2.0),
        (np.float32(np.inf), np.inf),
    ],
)
def test_the_shortest_decimal_rounds_to_the_number_in_its_own_dtype(value, decimal):
    assert shortest(value) == decimal
    assert np.asarray(decimal).astype(np.asarray(value).dtype) == value


def test_no_number_stays_none():
    assert np.isnan(shortest(np.float32(np.nan)))


def test_a_constant_is_found_behind_copies_and_rounded_by_casts():
    graph = names(node("Identity", "eps", "a"), node("Cast", "a", "b", to=11), node("Cast", "b", "c", to=10))
    assert graph.scalar("eps") == Scalar(1e-5, "F32", "eps")
    assert graph.scalar("b") == Scalar(9.999999747378752e-06, "F64", "eps")
    assert graph.scalar("c") == Scalar(1e-5, "F16", "eps")


def test_what_is_no_single_number_has_no_value():
    graph = names(node("Add", "eps eps", "sum"), node("Cast", "eps", "words", to=8))
    assert [graph.scalar(name) for name in ("gain", "sum", "words", "nowhere", "")] == [None] * 5


def test_a_constant_may_be_written_in_its_node():
    graph = names(
        node("Constant", "", "f", value_float=0.5), node("Constant", "", "i", value_int=2), node("Constant", "", "n")
    )
    assert graph.scalar("f") == Scalar(0.5, "F32", "Constant f")
    assert graph.scalar("i") == Scalar(2.0, "I64", "Constant i")
    assert graph.scalar("n") is None


def test_integers_of_small_constants():
    graph = names(node("Identity", "axes", "a"))
    assert (graph.numbers("a"), graph.numbers("eps"), graph.numbers("nowhere")) == ([-1, 2], [], [])


def test_makers_and_users_are_found_through_casts_and_copies():
    square = node("Mul", "x1 x", "sq")
    graph = names(
        node("Cast", "x", "x1", to=1), square, node("Identity", "sq", "sq1"), mean := node("ReduceMean", "sq1", "m")
    )
    assert graph.makers("sq1") == square
    assert graph.users("x") == [square, square]
    assert graph.users("sq") == [mean]
    assert graph.same("x1", "x")
    assert not graph.same("sq", "x")


def test_the_other_input_is_the_one_that_is_not_the_same():
    add = node("Add", "v eps", "y")
    graph = names(add)
    assert (graph.other(add, "v"), graph.other(add, "eps"), graph.other(add, "z")) == ("eps", "v", "")
    assert graph.other(node("Mul", "v v", "y"), "v") == ""


def test_a_stored_tensor_is_found_in_whatever_shape():
    graph = names(node("Unsqueeze", "gain", "a"), node("DequantizeLinear", "a scale zero", "b"))
    tensor = graph.stored("b")
    assert tensor is not None
    assert tensor.name == "gain"
    assert (graph.stored(""), graph.stored("x")) == (None, None)


def test_a_branch_sees_what_stands_around_it():
    outer = names(node("Cast", "eps", "e", to=11))
    inner = names(node("Identity", "e", "i"), outer=outer)
    assert inner.scalar("i") == Scalar(9.999999747378752e-06, "F64", "eps")
    assert inner.maker("e") == outer.maker("e")


def test_circles_of_copies_come_to_an_end():
    graph = names(node("Identity", "b", "a"), node("Identity", "a", "b"))
    assert graph.through("a") in {"a", "b"}
    assert (graph.scalar("a"), graph.users("a"), graph.stored("a")) == (None, [], None)


def test_a_chain_of_copies_is_followed_so_far():
    chain = [node("Identity", f"c{i}", f"c{i + 1}") for i in range(2 * MAX_STEPS)]
    graph = names(node("Identity", "eps", "c0"), *chain)
    assert graph.scalar(f"c{MAX_STEPS - 2}") == Scalar(1e-5, "F32", "eps")
    assert graph.scalar(f"c{2 * MAX_STEPS}") is None
