"""A table and a config become the norms that a checkpoint must hold."""

import pytest

from ln_audit.core import Norm, Place
from ln_audit.demand import Demand
from ln_audit.errors import FamilyError, UsageError
from ln_audit.families.contract import contract, described, find_epsilon
from ln_audit.families.recognise import load
from tests.families.model import checkpoint, config, gpt2

CONFIG = config(model_type="gpt2", n_embd=8, n_layer=2, layer_norm_epsilon=1e-5)


@pytest.mark.parametrize(
    ("layers", "width", "name"),
    [
        (12, 768, "gpt2"),
        (24, 1024, "gpt2-medium"),
        (36, 1280, "gpt2-large"),
        (48, 1600, "gpt2-xl"),
        (6, 768, "distilgpt2"),
    ],
)
def test_every_published_gpt2_has_its_norms(layers, width, name):
    norms = contract(
        load("gpt2"),
        config(n_embd=width, n_layer=layers, layer_norm_epsilon=1e-5),
        checkpoint(gpt2("", layers, width)),
        Demand(),
    )
    assert len(norms) == 2 * layers + 1, name
    assert {norm.width for norm in norms} == {width}
    assert [norm.name for norm in norms if norm.role == "final"] == ["ln_f"]


def test_the_final_norm_is_complete():
    norms = contract(load("gpt2"), CONFIG, checkpoint(gpt2("transformer.")), Demand())
    assert norms[-1] == Norm(
        "transformer.ln_f", "final", "decoder", None, "layer_norm", "transformer.ln_f.weight", "transformer.ln_f.bias", 8,
        "config.json: n_embd", 1e-5, "config.json: layer_norm_epsilon", (Place("config.json: layer_norm_epsilon", 1e-5),), chain="once", promised="ln_f",
    )  # fmt: skip
    assert [(norm.name, norm.layer) for norm in norms[:2]] == [("transformer.h.0.ln_1", 0), ("transformer.h.1.ln_1", 1)]


def test_llama_has_gains_only_and_rounds_before_them():
    norms = contract(
        load("llama"), config(hidden_size=8, num_hidden_layers=1), checkpoint({"model.norm.weight": (8,)}), Demand()
    )
    assert [(n.name, n.kind, n.bias, n.chain, n.eps) for n in norms][-1] == (
        "model.norm",
        "rms_norm",
        None,
        "before_gain",
        1e-6,
    )


def test_nemotron_adds_one_to_its_gains():
    norms = contract(load("nemotron"), config(hidden_size=8, num_hidden_layers=1), checkpoint({}), Demand())
    assert {n.weight_offset for n in norms} == {1.0}
    assert [n.bias_optional for n in norms] == [True, True, False]


def test_the_callers_word_is_what_comparisons_use():
    norms = contract(load("gpt2"), CONFIG, checkpoint(gpt2()), Demand(eps=1e-6, kind="rms_norm", offset=1.0))
    assert (norms[-1].eps, norms[-1].kind, norms[-1].weight_offset) == (1e-6, "rms_norm", 1.0)
    assert norms[-1].eps_places == (Place("--eps", 1e-6), Place("config.json: layer_norm_epsilon", 1e-5))


@pytest.mark.parametrize(
    ("given", "value", "source"),
    [
        (config(layer_norm_epsilon=1e-6), 1e-6, "config.json: layer_norm_epsilon"),
        (config(), 1e-5, "the loader's default, config.json has no layer_norm_epsilon"),
        (None, 1e-5, "assumed: the family's usual value, no config"),
        (config(layer_norm_epsilon="1e-5"), None, "config.json: layer_norm_epsilon: expected a number, found '1e-5'"),
        (config(layer_norm_epsilon=True), None, "config.json: layer_norm_epsilon: expected a number, found True"),
    ],
)
def test_epsilon_says_where_it_comes_from(given, value, source):
    found = find_epsilon(load("gpt2"), given, checkpoint({}), Demand())
    assert (found.value, found.source) == (value, source)


def test_a_config_may_not_make_us_build_without_end():
    with pytest.raises(FamilyError, match="config.json: n_layer: expected at most 4,096 layers, found 5,000"):
        contract(load("gpt2"), config(n_layer=5000), checkpoint({}), Demand())


def test_an_unknown_familys_norm_can_be_described():
    (norm,) = described(
        checkpoint({"core.scale.weight": (8,), "core.scale.bias": (8,)}),
        None,
        Demand(norm="core.scale", kind="layer_norm", eps=1e-6),
    )
    assert (norm.gain, norm.bias, norm.width, norm.eps, norm.role) == (
        "core.scale.weight",
        "core.scale.bias",
        8,
        1e-6,
        "final",
    )
    with pytest.raises(
        UsageError, match=r"--norm other: expected a norm of the checkpoint, found no tensor other.weight"
    ):
        described(checkpoint({}), None, Demand(norm="other", kind="layer_norm", eps=1e-6))
