"""ONNX models whose tensors are all there and whose graph does something else with them."""

import json
from functools import partial

import numpy as np
import pytest

from ln_audit.audit import audit
from ln_audit.checks import wrong_convention
from ln_audit.demand import Demand
from ln_audit.formats import onnx as onnx_format
from tests.checks.subject_builder import norm, subject
from tests.formats.memory_source import MemorySource
from tests.formats.onnx_models import helper, layer_norm, model, node

WIDTH = 6
NORMS = ("h.0.ln_1", "h.0.ln_2", "ln_f")
MS = "com.microsoft"


def tensors(**changes: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    names = ["wte.weight", *(f"{name}.{leaf}" for name in NORMS for leaf in ("weight", "bias"))]
    made = {name: rng.normal(1, 0.1, WIDTH).astype(np.float32) for name in names}
    return made | {"wte.weight": np.ones((3, WIDTH), np.float32)} | changes


def chain(op: str = "LayerNormalization", domain: str = "", skip: str = "", reads=None, **attributes) -> list:
    """One node per norm behind the other; `reads` gives other inputs than a norm's own gain and bias."""
    nodes, value = [], "x"
    for name in (name for name in NORMS if name != skip):
        inputs = (reads or {}).get(name, f"{name}.weight {name}.bias")
        nodes.append(node(op, f"{value} {inputs}".strip(), f"{name}.y", domain, f"/{name}/{op}", **attributes))
        value = f"{name}.y"
    return [*nodes, node("Identity", value, "y")]


def judged(folder, proto) -> tuple[str, list[tuple[str, str, str]], tuple[str, ...]]:
    """The verdict, what was no pass, and what is said not to have been checked."""
    config = {"model_type": "gpt2", "n_layer": 1, "n_embd": WIDTH, "layer_norm_epsilon": 1e-5}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    (report,) = audit(str(folder), Demand())
    found = [(f.name, f.status, f.message if f.status == "fail" else f.reason) for f in report.findings]
    return report.verdict.word, [entry for entry in found if entry[1] == "fail" or entry[2]], report.not_checked


def said(folder, proto, about: str = "wrong-convention") -> tuple[str, list[tuple[str, str]]]:
    verdict, found, _ = judged(folder, proto)
    return verdict, [(status, text) for name, status, text in found if name == about]


def unread(*names: str) -> list[tuple[str, str]]:
    return [("skip", f"no node computes it: none that is known as a norm reads {name}.weight") for name in names]


@pytest.mark.parametrize("opset", [17, 23])
def test_a_graph_that_computes_each_norm_with_its_own_parameters_passes(tmp_path, opset):
    assert said(tmp_path, model(chain(), tensors(), opset)) == ("pass", [])


def test_an_operator_that_adds_the_residual_first_passes(tmp_path):
    reads = {name: f"x {name}.weight {name}.bias" for name in NORMS}
    fused = chain("SkipLayerNormalization", MS, reads=reads, epsilon=1e-5)
    assert said(tmp_path, model(fused, tensors(), **{MS: 1})) == ("pass", [])


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"skip": "ln_f"}, ["ln_f"]),
        ({"reads": {"ln_f": "other ln_f.bias"}}, ["ln_f"]),
        ({"reads": {"ln_f": "h.0.ln_1.weight h.0.ln_1.bias"}}, ["ln_f"]),
        ({"domain": "mine"}, NORMS),
        ({"op": "Add", "reads": dict.fromkeys(NORMS, "x")}, NORMS),
    ],
)
def test_whether_a_norm_is_computed_cannot_be_told_where_no_known_node_reads_it(tmp_path, changes, names):
    proto = model(chain(**changes), tensors(other=np.ones(WIDTH, np.float32)), mine=1)
    assert said(tmp_path, proto) == ("incomplete", unread(*names))


def test_a_graph_without_nodes_computes_nothing(tmp_path):
    assert said(tmp_path, model([], tensors())) == ("incomplete", unread(*NORMS))


def test_norms_inside_a_function_are_not_looked_into_and_the_report_says_so(tmp_path):
    inner = [node("LayerNormalization", "x s b", "o", epsilon=1e-3)]
    opsets = [helper.make_opsetid("", 17)]
    proto = model(chain("LN", "mine"), tensors(), mine=1)
    proto.functions.append(helper.make_function("mine", "LN", ["x", "s", "b"], ["o"], inner, opsets))
    assert said(tmp_path, proto) == ("incomplete", unread(*NORMS))
    assert "model.onnx: 1 local functions: not looked into, they may compute norms" in judged(tmp_path, proto)[2]


@pytest.mark.parametrize(
    ("reads", "told"),
    [
        ("ln_f.bias ln_f.weight", "gain: expected ln_f.weight, found ln_f.bias, which is the bias"),
        ("ln_f.weight", "bias: expected ln_f.bias, found none"),
        ("ln_f.weight h.0.ln_1.bias", "bias: expected ln_f.bias, found h.0.ln_1.bias"),
        ("ln_f.weight other", "bias: expected ln_f.bias, found other"),
    ],
)
def test_a_norm_that_is_computed_with_other_parameters_fails(tmp_path, reads, told):
    proto = model(chain(reads={"ln_f": reads}), tensors(other=np.ones(WIDTH, np.float32)))
    expected = [("fail", f"model.onnx: node '/ln_f/LayerNormalization': {told}")]
    assert said(tmp_path, proto) == ("fail", expected)


def test_a_bias_that_is_computed_is_not_known(tmp_path):
    proto = model([node("Neg", "ln_f.bias", "minus"), *chain(reads={"ln_f": "ln_f.weight minus"})], tensors())
    told = "node '/ln_f/LayerNormalization': what it adds is no tensor that could be recognised: expected ln_f.bias"
    assert said(tmp_path, proto) == ("incomplete", [("skip", told)])


def test_two_norms_whose_parameters_are_swapped_by_the_names_of_their_nodes_are_a_doubt(tmp_path):
    reads = {"h.0.ln_1": "h.0.ln_2.weight h.0.ln_2.bias", "h.0.ln_2": "h.0.ln_1.weight h.0.ln_1.bias"}
    verdict, found = said(tmp_path, model(chain(reads=reads), tensors()))
    label = "node '/h.0.ln_2/LayerNormalization': named like h.0.ln_2 and reads h.0.ln_1.weight"
    assert (verdict, len(found), found[0]) == (
        "incomplete",
        2,
        ("skip", f"{label}: are the parameters of two norms swapped?"),
    )


@pytest.mark.parametrize("op", ["RMSNormalization", "SimplifiedLayerNormalization"])
def test_another_kind_of_norm_fails(tmp_path, op):
    reads = {name: f"{name}.weight" for name in NORMS}
    told = [("fail", f"model.onnx: node '/{name}/{op}': kind: expected layer_norm, found rms_norm") for name in NORMS]
    assert said(tmp_path, model(chain(op, reads=reads), tensors(), 23)) == ("fail", told)


def ranked(rank: int | None, axis: int):
    proto = model(chain(axis=axis), tensors())
    if rank is not None:
        names = ["x", *(f"{name}.y" for name in NORMS)]
        proto.graph.value_info.extend(helper.make_tensor_value_info(name, 1, [1] * rank) for name in names)
    return proto


@pytest.mark.parametrize(
    ("rank", "axis", "verdict", "told"),
    [
        (3, -1, "pass", ""),
        (3, 2, "pass", ""),
        (2, 1, "pass", ""),
        (None, 2, "pass", ""),
        (3, 1, "fail", "axis: expected -1, the last, found -2"),
        (4, 2, "fail", "axis: expected -1, the last, found -2"),
        (None, -2, "fail", "axis: expected -1, the last, found -2"),
        (None, 1, "incomplete", "its axis counts from the front, and the rank of its input is not written"),
    ],
)
def test_another_axis_than_the_last_fails_where_the_rank_is_known(tmp_path, rank, axis, verdict, told):
    found = said(tmp_path, ranked(rank, axis))
    assert (found[0], len(found[1])) == (verdict, len(NORMS) if told else 0)
    assert all(told in text for _, text in found[1])


def written(name: str, value: str, axis: int = -1, bias: bool = True) -> list:
    """The nine operations of one norm."""
    own = {"x": value, "g": f"{name}.weight", "b": f"{name}.bias", "two": "two", "eps": "eps"}
    nodes, _ = layer_norm(1e-5)
    for made in nodes:
        made.name = f"{name}/{made.name}"
        made.input[:] = [own.get(given, f"{name}.{given}") for given in made.input]
        made.output[:] = [f"{name}.{made.output[0]}"]
        for attribute in made.attribute:
            if attribute.name == "axes":
                attribute.ints[:] = [axis]
    if not bias:
        nodes[-1].op_type, nodes[-1].input[:] = "Identity", [f"{name}.zg"]
    return nodes


@pytest.mark.parametrize(
    ("final", "verdict", "found"),
    [
        (partial(written), "pass", []),
        (partial(written, axis=2), "pass", []),
        (partial(written, axis=-2), "fail", [("fail", "axis: expected -1, the last, found -2")]),
        (partial(written, bias=False), "incomplete", [("skip", "what it adds is no tensor that could be recognised")]),
    ],
)
def test_a_norm_that_is_written_out_is_held_to_the_same(tmp_path, final, verdict, found):
    nodes = [*written("h.0.ln_1", "x"), *written("h.0.ln_2", "h.0.ln_1.y"), *final("ln_f", "h.0.ln_2.y")]
    scalars = {"two": np.array(2, np.float32), "eps": np.array(1e-5, np.float32)}
    told = said(tmp_path, model([*nodes, node("Identity", "ln_f.y", "y")], tensors(**scalars), 13))
    assert (told[0], [status for status, _ in told[1]]) == (verdict, [status for status, _ in found])
    assert all(part in text for (_, text), (_, part) in zip(told[1], found, strict=True))


def test_the_epsilons_of_both_branches_of_a_condition_count(tmp_path):
    def branch(name: str, eps: float):
        nodes = [
            node("LayerNormalization", f"x {norm}.weight {norm}.bias", f"{name}{norm}", epsilon=eps) for norm in NORMS
        ]
        return helper.make_graph(nodes, name, [], [])

    for pair in ((1e-3, 1e-5), (1e-5, 1e-3)):
        graphs = {"then_branch": branch("t", pair[0]), "else_branch": branch("e", pair[1])}
        assert judged(tmp_path, model([node("If", "x", "y", **graphs)], tensors()))[0] == "fail"


def anonymous(*leaves: str) -> dict[str, str]:
    names = [f"{name}.{leaf}" for name in NORMS for leaf in leaves]
    return {name: f"onnx::Mul_{number}" for number, name in enumerate(names)}


@pytest.mark.parametrize("leaves", [("weight", "bias"), ("weight",), ("bias",)])
def test_parameters_under_names_that_no_family_has_are_not_missing_but_cannot_be_told(tmp_path, leaves):
    names = anonymous(*leaves)
    reads = {
        norm: " ".join(names.get(f"{norm}.{leaf}", f"{norm}.{leaf}") for leaf in ("weight", "bias")) for norm in NORMS
    }
    renamed = {names.get(name, name): array for name, array in tensors().items()}
    verdict, found = said(tmp_path, model(chain(reads=reads), renamed), "missing-norm")
    assert (verdict, {status for status, _ in found}) == ("incomplete", {"skip"})
    assert "onnx::Mul_0" in found[0][1]


def test_a_norm_that_neither_the_tensors_nor_the_graph_has_is_missing(tmp_path):
    without = {name: array for name, array in tensors().items() if not name.startswith("ln_f")}
    assert said(tmp_path, model(chain(skip="ln_f"), without), "missing-norm")[0] == "fail"
    biasless = {name: array for name, array in tensors().items() if name != "ln_f.bias"}
    assert said(tmp_path, model(chain(reads={"ln_f": "ln_f.weight"}), biasless), "missing-norm")[0] == "fail"


@pytest.mark.parametrize(("value", "status"), [(0, "pass"), (1, "skip")])
def test_a_bias_that_the_family_does_not_have_must_be_zeros(value, status):
    """Exporters give LayerNormalization a bias of zeros where the module has none."""
    parts = {"ln_f.weight": np.ones(4, np.float32), "added": np.full(4, value, np.float32)}
    proto = model([node("LayerNormalization", "x ln_f.weight added", "y")], parts)
    checkpoint = onnx_format.read_checkpoint(MemorySource({"m.onnx": proto.SerializeToString()}), "m.onnx")
    (finding,) = wrong_convention.check(subject({}, norm(bias=None), checkpoint=checkpoint))
    assert finding.status == status


def test_an_epsilon_that_is_no_float_is_not_taken_for_the_default(tmp_path):
    nodes = chain()
    nodes[2].attribute.append(helper.make_attribute("epsilon", 1))
    assert said(tmp_path, model(nodes, tensors())) == (
        "incomplete",
        [("skip", ("node '/ln_f/LayerNormalization': its epsilon could not be worked out (model.onnx: epsilon of "
          "LayerNormalization node '/ln_f/LayerNormalization', which is no float)"))],
    )  # fmt: skip
