import numpy as np
import pytest

from ln_audit.core import NormSite
from ln_audit.formats import onnx
from tests.formats.memory_source import MemorySource
from tests.formats.onnx_models import BIAS, GAIN, const, helper, layer_norm, model, node, numpy_helper

MS = "com.microsoft"
PARTS = {"g": GAIN, "b": BIAS}


def sites(proto) -> tuple[NormSite, ...]:
    files = {"m.onnx": proto.SerializeToString()}
    return onnx.read_checkpoint(MemorySource(files), "m.onnx").norm_sites


@pytest.mark.parametrize(
    ("op", "inputs", "domain", "kind", "bias", "eps"),
    [
        ("LayerNormalization", "x g b", "", "layer_norm", "b", 1e-5),
        ("LayerNormalization", "x g", "", "layer_norm", None, 1e-5),
        ("RMSNormalization", "x g", "", "rms_norm", None, 1e-5),
        ("SimplifiedLayerNormalization", "x g", "", "rms_norm", None, 1e-5),
        ("SkipLayerNormalization", "x x g b", MS, "layer_norm", "b", 1e-12),
        ("SkipSimplifiedLayerNormalization", "x x g b", MS, "rms_norm", None, 1e-12),
        ("EmbedLayerNormalization", "x x x x x g b", MS, "layer_norm", "b", 1e-12),
    ],
)
def test_every_operator_has_its_parameters_and_without_an_attribute_its_own_epsilon(
    op, inputs, domain, kind, bias, eps
):
    more = {MS: 1} if domain else {}
    default = model([node(op, inputs, "y", domain, name="ln")], PARTS, 23, **more)
    where = f"m.onnx: {op} node 'ln' without an epsilon attribute, which means the operator's default"
    assert sites(default) == (NormSite("ln", kind, "g", bias, eps, where),)
    written = model([node(op, inputs, "y", domain, name="ln", epsilon=1e-6)], PARTS, 23, **more)
    assert sites(written) == (NormSite("ln", kind, "g", bias, 1e-6, f"m.onnx: epsilon of {op} node 'ln'"),)


def test_an_operator_of_another_domain_is_none_of_these():
    assert sites(model([node("LayerNormalization", "x g b", "y", "mine")], PARTS, mine=1)) == ()


def test_batch_and_instance_normalization_are_none_of_these():
    names = dict.fromkeys(("g", "b", "m", "v"), GAIN)
    nodes = [node("BatchNormalization", "x g b m v", "i"), node("InstanceNormalization", "i g b", "y")]
    assert sites(model(nodes, names)) == ()


def test_a_node_without_a_name_is_called_by_its_gain():
    nameless = node("LayerNormalization", "x g b", "y")
    nameless.name = ""
    assert sites(model([nameless], PARTS))[0].name == "g"


def test_sites_stand_in_graph_order_and_shared_parameters_are_found_through_copies():
    nodes = [
        node("Identity", "g", "g1"),
        node("LayerNormalization", "x g b", "h", name="first"),
        node("Cast", "b", "b1", to=10),
        node("LayerNormalization", "h g1 b1", "y", name="second", epsilon=1e-6),
    ]
    assert [(s.name, s.gain, s.bias) for s in sites(model(nodes, PARTS))] == [("first", "g", "b"), ("second", "g", "b")]


def test_a_gain_in_three_dimensions_keeps_its_name():
    nodes, tensors = layer_norm(1e-6, g=GAIN.reshape(1, 1, 6))
    assert [(s.kind, s.gain, s.bias, s.eps) for s in sites(model(nodes, tensors, 13))] == [
        ("layer_norm", "g", "b", 1e-6)
    ]


def test_what_both_branches_of_a_condition_have_stands_here_once():
    def branch(name, eps):
        ln = node("LayerNormalization", "x g b", f"{name}_y", name=f"{name}/ln", epsilon=eps)
        return helper.make_graph([ln], name, [], [])

    same = model([node("If", "x", "y", then_branch=branch("t", 1e-6), else_branch=branch("e", 1e-6))], PARTS)
    assert [(s.name, s.gain, s.eps) for s in sites(same)] == [("e/ln", "g", 1e-6)]
    differs = model([node("If", "x", "y", then_branch=branch("t", 1e-6), else_branch=branch("e", 1e-5))], PARTS)
    assert [(s.name, s.eps) for s in sites(differs)] == [("e/ln", 1e-5), ("t/ln", 1e-6)]


def test_an_rms_norm_of_what_had_its_mean_taken_off_is_a_layer_norm():
    """onnxruntime's optimizer makes this of a written out LayerNorm without bias."""
    nodes = [
        node("ReduceMean", "x", "mu", axes=[-1]),
        node("Sub", "x mu", "c"),
        node("SimplifiedLayerNormalization", "c g", "y", epsilon=1e-5),
    ]
    assert [(s.kind, s.gain) for s in sites(model(nodes, PARTS, 13))] == [("layer_norm", "g")]


def test_a_gain_that_is_computed_has_no_name():
    nodes = [node("Add", "x x", "g2"), node("LayerNormalization", "x g2 b", "y")]
    assert [(s.gain, s.bias) for s in sites(model(nodes, PARTS))] == [(None, "b")]


def test_a_gain_that_is_stored_less_one_has_the_name_of_what_is_stored():
    nodes = [node("Add", "g one", "g1"), node("LayerNormalization", "x g1 b", "y")]
    assert [(s.gain, s.bias) for s in sites(model(nodes, PARTS | const("one", 1)))] == [("g", "b")]


def test_a_bias_that_is_left_out_is_told_from_one_that_is_computed():
    for bias, certain in (("", True), ("b2", False)):
        nodes = [node("Add", "b b", "b2"), node("LayerNormalization", f"x g {bias}", "y")]
        assert [(s.bias, s.bias_certain) for s in sites(model(nodes, PARTS))] == [(None, certain)]


def test_an_axis_is_counted_from_the_end_of_the_rank_that_the_file_or_what_lies_around_a_branch_writes():
    proto = model([node("LayerNormalization", "x g b", "y", axis=1)], PARTS)
    assert [s.axis for s in sites(proto)] == [None]
    proto.graph.value_info.append(helper.make_tensor_value_info("x", 1, [1, "positions", 6]))
    assert [s.axis for s in sites(proto)] == [-2]
    ln = node("LayerNormalization", "x g b", "z", axis=1)
    inside = model([node("If", "c", "y", then_branch=helper.make_graph([ln], "t", [], []))], PARTS)
    inside.graph.value_info.append(helper.make_tensor_value_info("x", 1, [4, 6]))
    assert [s.axis for s in sites(inside)] == [-1]


def test_a_gain_inside_a_constant_node_is_a_tensor_of_the_checkpoint():
    nodes = [node("Constant", "", "k", value=numpy_helper.from_array(GAIN, "")), node("RMSNormalization", "x k", "y")]
    files = {"m.onnx": model(nodes, const("unused", 1), 23).SerializeToString()}
    checkpoint = onnx.read_checkpoint(MemorySource(files), "m.onnx")
    assert list(checkpoint.tensors) == ["unused", "k"]
    assert np.frombuffer(checkpoint.read(["k"])["k"].data, "<f4").tolist() == GAIN.tolist()


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "domain", "reads"),
    [
        ("LayerNormalization", "x g b", ["y"], "", "x"),
        ("SkipLayerNormalization", "x x g b", ["y"], "com.microsoft", ""),
        ("SkipLayerNormalization", "x x g b", ["y", "", "", "s"], "com.microsoft", "s"),
        ("EmbedLayerNormalization", "x x x x x g b", ["y", "", "s"], "com.microsoft", "s"),
    ],
)
def test_what_a_norm_reads_and_gives_has_a_name_in_the_graph(op, inputs, outputs, domain, reads):
    made = helper.make_node(op, inputs.split(), outputs, name="ln", domain=domain)
    (site,) = sites(model([made], {"g": GAIN, "b": BIAS}, **({domain: 1} if domain else {})))
    assert (site.reads, site.gives) == (reads, "y")
