"""A table and a config become the norms that a checkpoint must hold."""

from dataclasses import replace

import pytest

from ln_audit.core import Norm, NormSite, Place
from ln_audit.demand import Demand
from ln_audit.errors import FamilyError
from ln_audit.families.recognise import load
from ln_audit.families.table import parse
from tests.families.model import checkpoint, config, gpt2, promised

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
    norms = promised(
        load("gpt2"),
        config(n_embd=width, n_layer=layers, layer_norm_epsilon=1e-5),
        checkpoint(gpt2("", layers, width)),
        Demand(),
    )
    assert len(norms) == 2 * layers + 1, name
    assert {norm.width for norm in norms} == {width}
    assert [norm.name for norm in norms if norm.role == "final"] == ["ln_f"]


def test_the_final_norm_is_complete():
    norms = promised(load("gpt2"), CONFIG, checkpoint(gpt2("transformer.")), Demand())
    assert norms[-1] == Norm(
        "transformer.ln_f", "final", "decoder", None, "layer_norm", "transformer.ln_f.weight", "transformer.ln_f.bias", 8,
        "config.json: n_embd", 1e-5, "config.json: layer_norm_epsilon", (Place("config.json: layer_norm_epsilon", 1e-5),), chain="once", promised="ln_f", pattern="ln_f",
    )  # fmt: skip
    assert [(norm.name, norm.layer) for norm in norms[:2]] == [("transformer.h.0.ln_1", 0), ("transformer.h.1.ln_1", 1)]


def test_llama_has_gains_only_and_rounds_before_them():
    norms = promised(
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
    norms = promised(load("nemotron"), config(hidden_size=8, num_hidden_layers=1), checkpoint({}), Demand())
    assert {n.weight_offset for n in norms} == {1.0}
    assert [n.bias_optional for n in norms] == [True, True, False]


def test_the_callers_word_is_what_comparisons_use():
    norms = promised(load("gpt2"), CONFIG, checkpoint(gpt2()), Demand(eps=1e-6, kind="rms_norm", offset=1.0))
    assert (norms[-1].eps, norms[-1].kind, norms[-1].weight_offset) == (1e-6, "rms_norm", 1.0)
    assert norms[-1].eps_places == (Place("--eps", 1e-6), Place("config.json: layer_norm_epsilon", 1e-5))


def test_a_config_may_not_make_us_build_without_end():
    with pytest.raises(FamilyError, match="config.json: n_layer: expected at most 4,096 layers, found 5,000"):
        promised(load("gpt2"), config(n_layer=5000), checkpoint({}), Demand())


MIXED = """
name = "mixed"
prefixes = ["m.", ""]
[sizes.d]
default = 8
[sizes.depth]
default = 4
[sizes.more]
default = 0
[sizes.heads]
default = 2
[sizes.head_dim]
product = ["d"]
over = ["heads"]
[epsilon]
keys = ["eps"]
default = 1e-5
[epsilons.fixed]
default = 1e-6
[[norm]]
name = "b.{layer}.attn.q_norm"
role = "qk"
kind = "layer_norm"
layers = "depth"
shape = ["head_dim"]
beside = "b.{layer}.attn."
epsilon = "fixed"
[[norm]]
name = "b.{layer}.enorm"
role = "other"
kind = "rms_norm"
layers = "more"
first = "depth"
shape = ["d"]
[[norm]]
name = "s.{stage}.b.{block}.norm"
role = "block"
kind = "rms_norm"
like = {tensor = "s.{stage}.b.{block}.up.weight", axis = 1}
beside = "s.{stage}.b.{block}.up."
[[norm]]
name = "plain"
role = "block"
kind = "rms_norm"
gain = "none"
[[norm]]
name = "head.norm"
role = "other"
kind = "layer_norm"
bias = "required"
shape = [2, "d"]
rooted = true
beside = "head."
[[norm]]
name = "norm"
role = "final"
kind = "rms_norm"
shape = ["d"]
"""
TENSORS = {
    "m.b.0.mlp.weight": (8, 8), "m.b.2.mlp.weight": (8, 8), "m.b.1.attn.q.weight": (8, 8), "m.b.3.attn.q_norm.weight": (4,), "m.b.4.enorm.weight": (8,), "head.out.weight": (3, 3),
    "m.s.0.b.0.up.weight": (9, 5), "m.s.1.b.2.up.weight": (9, 7), "m.norm.weight": (8,),
}  # fmt: skip


def test_a_table_can_say_where_a_norm_is_how_wide_and_beside_what():
    norms = promised(parse(MIXED, "mixed.toml"), config(eps=1e-3, more=1), checkpoint(TENSORS))
    assert [(n.name, n.layer, n.width, n.eps, n.eps_source) for n in norms] == [
        ("m.b.1.attn.q_norm", 1, 4, 1e-6, "fixed in the model's code"),
        ("m.b.3.attn.q_norm", 3, 4, 1e-6, "fixed in the model's code"),
        ("m.b.4.enorm", 4, 8, 1e-3, "config.json: eps"),
        ("m.s.0.b.0.norm", None, 5, 1e-3, "config.json: eps"),
        ("m.s.1.b.2.norm", None, 7, 1e-3, "config.json: eps"),
        ("m.plain", None, None, 1e-3, "config.json: eps"),
        ("head.norm", None, 16, 1e-3, "config.json: eps"),
        ("m.norm", None, 8, 1e-3, "config.json: eps"),
    ]
    assert (
        norms[0].width_source
        == "the loader's default, config.json has no d / the loader's default, config.json has no heads"
    )
    assert norms[3].width_source == "axis 1 of m.s.0.b.0.up.weight"
    assert norms[5].tensors == ()


def test_the_callers_kind_and_offset_are_those_of_what_is_built_like_the_final_norm():
    norms = promised(
        parse(MIXED, "mixed.toml"), config(), checkpoint(TENSORS), Demand(kind="l2_norm", offset=1.0, eps=0.5)
    )
    assert {norm.pattern: (norm.kind, norm.eps) for norm in norms} == {
        "b.{layer}.attn.q_norm": ("layer_norm", 1e-6),
        "s.{stage}.b.{block}.norm": ("l2_norm", 0.5),
        "plain": ("l2_norm", 0.5),
        "head.norm": ("layer_norm", 0.5),
        "norm": ("l2_norm", 0.5),
    }


def test_more_norms_than_any_model_has_are_not_built():
    heads = 'name = "b.{layer}.h.{head}.n"\nrole = "qk"\nkind = "rms_norm"\nlayers = "depth"\ncounts = {head = "heads"}\nshape = ["d"]'
    table = parse(MIXED + "[[norm]]\n" + heads + "\n", "mixed.toml")
    with pytest.raises(FamilyError, match="expected at most 65,536 norms, found 16,000,000"):
        promised(table, config(depth=4000, heads=4000), checkpoint({}))


def test_the_neighbour_of_a_rooted_norm_stands_at_the_root_too():
    table = (
        MIXED
        + '[[norm]]\nname = "tower.ln"\nrole = "other"\nkind = "rms_norm"\nrooted = true\nlike = {tensor = "tower.up.weight", axis = 1}\n'
    )
    made = checkpoint(TENSORS | {"tower.up.weight": (3, 6), "tower.ln.weight": (6,), "m.tower.up.weight": (3, 7)})
    assert {n.name: n.width for n in promised(parse(table, "mixed.toml"), config(), made)}["tower.ln"] == 6


TOWERS = """
name = "towers"
main = ["decoder"]
[sizes.d]
default = 8
[[part]]
config = "ear"
prefixes = ["ear."]
stack = "audio"
default = "gpt2"
[[norm]]
name = "ear_norm"
role = "final"
stack = "audio"
kind = "layer_norm"
shape = ["d"]
[[norm]]
name = "eye.layers.{layer}.norm"
role = "block"
stack = "vision"
beside = "eye.layers.{layer}."
kind = "rms_norm"
shape = ["d"]
[[norm]]
name = "eye_norm"
role = "final"
stack = "vision"
kind = "rms_norm"
shape = ["d"]
"""


@pytest.mark.parametrize(
    ("held", "missed"),
    [
        ("eye.layers.0.attn.weight", ["eye_norm"]),
        ("ear.wte.weight", ["ear_norm"]),
        ("mouth.weight", []),
    ],
)
def test_a_towers_norm_at_the_root_is_missed_where_its_tower_is_there(held, missed):
    norms = promised(parse(TOWERS, "towers.toml"), config(), checkpoint({held: (8,)}))
    assert [norm.name for norm in norms if norm.name in {"eye_norm", "ear_norm"}] == missed


def test_a_model_may_have_no_next_token_block():
    norms = promised(
        parse(MIXED.replace("[sizes.more]\ndefault = 0", "[sizes.more]\ndefault = 1"), "x"),
        config(more=0),
        checkpoint(TENSORS),
    )
    assert "b.{layer}.enorm" not in {norm.pattern for norm in norms}


def test_two_rows_of_one_name_that_nobody_can_decide_between_are_one_norm():
    rows = """
[[norm]]
name = "closing"
role = "other"
kind = "rms_norm"
shape = ["d"]
when = [{key = "parallel", op = "%s"}]
"""
    table = parse(MIXED + rows % "truthy" + rows % "missing", "mixed.toml")
    made = checkpoint(TENSORS | {"m.closing.weight": (8,)})
    assert [norm.name for norm in promised(table, None, made)].count("m.closing") == 1
    assert [norm.name for norm in promised(table, config(parallel=True), made)].count("m.closing") == 1


def test_a_graph_of_norms_without_parameters_is_held_to_the_codes_epsilon_at_every_site():
    made = checkpoint({"model.embed_tokens.weight": (9, 8), "model.layers.0.self_attn.q_proj.weight": (8, 8)})
    sites = tuple(NormSite(str(i), "layer_norm", None, None, eps, f"node {i}") for i, eps in enumerate((1e-5, 1e-4)))
    graph = replace(made, format="onnx", norm_sites=sites, computes=True)
    (first, *_) = promised(load("olmo"), config(num_hidden_layers=1), graph)
    assert [(place.where, place.value) for place in first.eps_places] == [
        ("fixed in the model's code", 1e-5),
        ("node 0", 1e-5),
        ("node 1", 1e-4),
    ]


def test_the_width_of_a_part_that_is_switched_off_may_be_zero():
    extra = '[sizes.extra]\ndefault = 4\n[[norm]]\nname = "more"\nrole = "other"\nkind = "rms_norm"\nshape = ["extra"]\nwhen = [{key = "extra", op = "truthy", default = 4}]\n'
    table = parse(MIXED + extra, "mixed.toml")
    assert "more" not in {norm.promised for norm in promised(table, config(extra=0), checkpoint(TENSORS))}
    assert "more" in {norm.promised for norm in promised(table, config(extra=2), checkpoint(TENSORS))}


def test_a_layer_of_which_nothing_is_there_excuses_none_of_its_norms():
    lost = {name: shape for name, shape in TENSORS.items() if name != "m.b.2.mlp.weight"}
    found = [norm.name for norm in promised(parse(MIXED, "mixed.toml"), config(), checkpoint(lost))]
    assert "m.b.2.attn.q_norm" in found
    assert "m.b.0.attn.q_norm" not in found


HALVES = """
name = "halves"
main = ["decoder"]
[sizes.d]
default = 8
[[norm]]
name = "encoder.norm"
role = "final"
stack = "encoder"
kind = "rms_norm"
shape = ["d"]
[[norm]]
name = "decoder.norm"
role = "final"
kind = "rms_norm"
shape = ["d"]
"""


def test_half_of_a_model_is_in_doubt_and_not_excused():
    table = parse(HALVES, "halves.toml")
    (norm,) = (n for n in promised(table, config(), checkpoint({"decoder.norm.weight": (8,)})) if n.stack == "encoder")
    assert norm.doubt == "no tensor of its encoder (encoder.) is there: is this a part of the model?"
    both = {"decoder.norm.weight": (8,), "encoder.up.weight": (8, 8)}
    assert [n.doubt for n in promised(table, config(), checkpoint(both))] == ["", ""]


def test_half_of_a_model_that_its_class_has_not_is_not_asked_for():
    but = '[[norm]]\nwhen = [{ key = "architectures", op = "ne", value = ["Half"] }]'
    table = parse(HALVES.replace("[[norm]]", but), "halves.toml")
    assert promised(table, config(architectures=["Half"]), checkpoint({"up.weight": (8,)})) == ()
    for whole in (config(architectures=["Whole"]), config(), None):
        stacks = {
            n.stack
            for n in promised(table, whole, checkpoint({"decoder.norm.weight": (8,), "encoder.up.weight": (8,)}))
        }
        assert stacks == {"decoder", "encoder"}


def test_a_list_of_what_each_layer_is_counts_the_layers():
    table = parse(MIXED.replace("[sizes.depth]", '[sizes.depth]\naliases = ["types"]'), "mixed.toml")
    deep = promised(table, config(types=["a"] * 6), checkpoint(TENSORS))
    assert {norm.layer for norm in deep if norm.pattern == "b.{layer}.attn.q_norm"} == {1, 3, 5}


def test_many_rows_of_many_layers_are_not_built_either():
    row = '[[norm]]\nname = "b.{layer}.n%d"\nrole = "block"\nkind = "rms_norm"\nlayers = "depth"\nshape = ["d"]\n'
    table = parse(MIXED + "".join(row % number for number in range(40)), "mixed.toml")
    with pytest.raises(FamilyError, match="mixed: expected at most 65,536 norms, found more"):
        promised(table, config(depth=4000), checkpoint({}))
