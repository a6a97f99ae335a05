"""A container's names are the family's, there and back; what it states itself is its config."""

import pytest

from ln_audit.core import Declared, NormSite
from ln_audit.demand import Demand
from ln_audit.errors import FamilyError
from ln_audit.families import containers
from ln_audit.families.described import by_graph
from ln_audit.families.recognise import identify, load
from tests.families.model import checkpoint, config, promised

GGUF_GPT2 = {
    "token_embd.weight": (16, 8), "position_embd.weight": (4, 8), "output_norm.weight": (8,), "output_norm.bias": (8,),
    "blk.0.attn_norm.weight": (8,), "blk.0.attn_norm.bias": (8,), "blk.0.ffn_norm.weight": (8,), "blk.0.ffn_norm.bias": (8,),
}  # fmt: skip
GGUF_FACTS = {
    "general.architecture": "gpt2", "gpt2.embedding_length": 8, "gpt2.block_count": 1,
    "gpt2.attention.layer_norm_epsilon": 9.999999747378752e-06,
}  # fmt: skip


def container(format_, shapes, facts=None):
    made = checkpoint(shapes)
    declared = tuple(Declared(key, value, "model.x") for key, value in (facts or {}).items())
    return type(made)(format_, ("model.x",), made.tensors, made.read, declared)


def test_gguf_is_recognised_by_its_architecture_and_gives_the_familys_norms():
    made = container("gguf", GGUF_GPT2, GGUF_FACTS)
    found = identify(made, None)
    assert found is not None
    assert (found[0].name, found[1].evidence) == ("gpt2", 'general.architecture "gpt2" in model.x')
    norms = promised(found[0], None, made, Demand())
    assert [(n.name, n.promised, n.gain, n.bias, n.width) for n in norms] == [
        ("blk.0.attn_norm", "h.0.ln_1", "blk.0.attn_norm.weight", "blk.0.attn_norm.bias", 8),
        ("blk.0.ffn_norm", "h.0.ln_2", "blk.0.ffn_norm.weight", "blk.0.ffn_norm.bias", 8),
        ("output_norm", "ln_f", "output_norm.weight", "output_norm.bias", 8),
    ]
    assert norms[-1].eps_source == "model.x: gpt2.attention.layer_norm_epsilon"


def test_a_missing_norm_is_named_as_the_container_would_name_it():
    made = container("gguf", {}, GGUF_FACTS)
    assert promised(load("gpt2"), None, made, Demand())[-1].gain == "output_norm.weight"


def test_a_gguf_without_epsilon_is_what_loaders_refuse():
    facts = {key: value for key, value in GGUF_FACTS.items() if "epsilon" not in key}
    made = container("gguf", GGUF_GPT2, facts)
    norm = promised(load("gpt2"), None, made, Demand())[-1]
    assert norm.eps is None
    assert norm.eps_source.endswith("expected a number, found no such key")
    assert containers.missing_epsilon(container("gguf", {}, {"gemma3.attention.layer_norm_rms_epsilon": 1e-6})) is None
    assert containers.missing_epsilon(checkpoint({})) is None


def test_an_epsilon_under_the_key_of_another_norm_or_architecture_is_none():
    for key in ("gpt2.attention.layer_norm_rms_epsilon", "llama.attention.layer_norm_epsilon"):
        facts = {each: value for each, value in GGUF_FACTS.items() if "epsilon" not in each} | {key: 1e-5}
        norm = promised(load("gpt2"), None, container("gguf", GGUF_GPT2, facts), Demand())[-1]
        assert norm.eps is None
        assert norm.eps_source == "model.x: gpt2.attention.layer_norm_epsilon: expected a number, found no such key"


def test_a_size_that_loaders_insist_on_is_not_replaced_by_a_default():
    facts = {key: value for key, value in GGUF_FACTS.items() if key != "gpt2.block_count"}
    with pytest.raises(FamilyError, match=r"model\.x: gpt2\.block_count: expected a number, found no such key"):
        promised(load("gpt2"), None, container("gguf", GGUF_GPT2, facts), Demand())


def test_the_hubs_names_are_no_names_of_a_container_that_has_its_own():
    shapes = {name: shape for name, shape in GGUF_GPT2.items() if "output_norm" not in name} | {
        "ln_f.weight": (8,),
        "blk.00.attn_norm.weight": (8,),
    }
    made = container("gguf", shapes, GGUF_FACTS)
    assert promised(load("gpt2"), None, made, Demand())[-1].gain == "output_norm.weight"
    assert containers.view(made, "gpt2").uncovered == ["ln_f.weight", "blk.00.attn_norm.weight"]


def test_names_of_which_a_container_knows_none_are_not_judged():
    made = container("tensorflow", {"transformer/ln_f/gamma": (8,)}, {"hparams.n_embd": 8, "hparams.n_layer": 1})
    with pytest.raises(
        FamilyError, match="expected the names that tensorflow has for gpt2, found 'transformer/ln_f/gamma'"
    ):
        promised(load("gpt2"), None, made, Demand())


def test_two_spellings_of_one_name_in_an_archive_are_copies():
    made = container("npz", {"ln_f.weight": (8,), "params/ln_f/scale": (8,), "ln_f.bias": (8,), "wte.weight": (16, 8)})
    norm = promised(load("gpt2"), config(n_embd=8, n_layer=1), made, Demand())[-1]
    assert norm.copies == (("ln_f.weight", "params/ln_f/scale"),)


def test_a_container_is_of_the_architecture_that_it_states_whatever_lies_beside_it():
    found = identify(container("gguf", GGUF_GPT2, GGUF_FACTS), config(model_type="llama"))
    assert found is not None
    assert found[0].name == "gpt2"
    assert identify(container("gguf", GGUF_GPT2, {"general.architecture": "acme"}), config(model_type="gpt2")) is None


def test_an_architecture_that_we_do_not_know_is_not_guessed_from_names():
    assert identify(container("gguf", GGUF_GPT2, {"general.architecture": "acme"}), None) is None


def test_nemotrons_gguf_holds_the_full_gain():
    made = container(
        "gguf",
        {"output_norm.weight": (8,)},
        {"general.architecture": "nemotron", "nemotron.embedding_length": 8, "nemotron.block_count": 1},
    )
    assert {norm.weight_offset for norm in promised(load("nemotron"), None, made, Demand())} == {0.0}


def test_openais_checkpoint_names():
    shapes = {
        "model/wte": (16, 8),
        "model/wpe": (4, 8),
        "model/h0/ln_1/g": (8,),
        "model/h0/ln_1/b": (8,),
        "model/ln_f/g": (8,),
        "model/ln_f/b": (8,),
    }
    made = container("tensorflow", shapes, {"hparams.n_embd": 8, "hparams.n_layer": 1})
    found = identify(made, None)
    assert found is not None
    norms = promised(found[0], None, made, Demand())
    assert [(n.name, n.gain, n.bias) for n in norms] == [
        ("model/h0/ln_1", "model/h0/ln_1/g", "model/h0/ln_1/b"),
        ("model/h0/ln_2", "model/h0/ln_2/g", "model/h0/ln_2/b"),
        ("model/ln_f", "model/ln_f/g", "model/ln_f/b"),
    ]
    assert norms[-1].eps_source == "fixed in the model's code, model.x does not hold it"


@pytest.mark.parametrize(
    "name", ["params/transformer/ln_f/scale", "transformer.ln_f.weight", "transformer/ln_f/weight"]
)
def test_archives_of_flax_and_mlx(name):
    assert containers.view(container("npz", {name: (8,)}), "gpt2").actual == {"transformer.ln_f.weight": name}


def test_other_formats_keep_the_hubs_names():
    assert containers.view(checkpoint({"a.b": (1,)}), "gpt2").actual == {"a.b": "a.b"}
    assert containers.config(checkpoint({}), "gpt2") is None


def test_a_graph_says_which_norms_there_are_and_which_epsilon_they_use():
    site = NormSite(
        "LayerNormalization_y",
        "layer_norm",
        "x.weight",
        "x.bias",
        1e-5,
        "model.onnx: LayerNormalization_y: epsilon, the operator's default",
    )
    made = checkpoint({"x.weight": (16,), "x.bias": (16,)})
    made = type(made)("onnx", ("model.onnx",), made.tensors, made.read, (), (site,))
    (norm,) = by_graph(made, config(layer_norm_eps=1e-12), Demand())
    assert (norm.name, norm.width, norm.role, norm.eps) == ("LayerNormalization_y", 16, "other", 1e-12)
    assert [place.value for place in norm.eps_places] == [1e-12, 1e-5]
    (alone,) = by_graph(made, None, Demand())
    assert (alone.eps, alone.eps_source) == (1e-5, site.eps_where)
