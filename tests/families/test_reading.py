"""A family held against a checkpoint: the whole, and the models inside it."""

from dataclasses import replace

import pytest

from ln_audit.core import NormSite
from ln_audit.errors import FamilyError
from ln_audit.families.reading import nested, readings, unknown_parts
from ln_audit.families.recognise import load
from ln_audit.families.table import parse
from tests.families.model import checkpoint, config, gpt2, promised

SHELL = """
name = "shell"
main = ["decoder"]
prefixes = ["model.", ""]
[[part]]
config = "text_config"
prefixes = ["language_model.", "old.model."]
stack = "decoder"
default = "llama"
[[part]]
config = "vision_config"
prefixes = ["tower."]
stack = "vision"
without = ["h.{layer}.ln_cross_attn"]
"""
TEXT: dict[str, tuple[int, ...]] = {"model.language_model.norm.weight": (8,), "model.language_model.layers.0.input_layernorm.weight": (8,),
        "model.language_model.layers.0.post_attention_layernorm.weight": (8,)}  # fmt: skip
CONFIG = config(
    text_config={"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "rms_norm_eps": 1e-5},
    vision_config={"model_type": "gpt2", "n_embd": 4, "n_layer": 3, "layer_norm_epsilon": 1e-6},
)


def test_a_model_inside_a_model_has_its_own_names_sizes_and_epsilon():
    norms = promised(parse(SHELL, "shell.toml"), CONFIG, checkpoint(TEXT))
    assert [(n.name, n.width, n.eps, n.stack, n.main, n.width_source) for n in norms if n.role == "final"] == [
        ("model.language_model.norm", 8, 1e-5, "decoder", True, "config.json: text_config: hidden_size"),
    ]


def test_another_stack_is_asked_for_only_where_it_is():
    tower: dict[str, tuple[int, ...]] = {"model.tower.h.1.attn.weight": (4, 4), "model.tower.wte.weight": (9, 4)}
    norms = promised(parse(SHELL, "shell.toml"), CONFIG, checkpoint(TEXT | tower))
    found = [(n.name, n.stack, n.main) for n in norms if n.stack == "vision"]
    assert found == [
        *((f"model.tower.h.{layer}.ln_1", "vision", False) for layer in range(3)),
        *((f"model.tower.h.{layer}.ln_2", "vision", False) for layer in range(3)),
        ("model.tower.ln_f", "vision", False),
    ]


def test_an_older_layout_is_another_prefix():
    old = {name.replace("model.language_model.", "old.model."): shape for name, shape in TEXT.items()}
    norms = promised(parse(SHELL, "shell.toml"), CONFIG, checkpoint(old))
    assert {norm.name: norm.misnamed for norm in norms} == {
        "old.model.layers.0.input_layernorm": (),
        "old.model.layers.0.post_attention_layernorm": (),
        "old.model.norm": (),
    }


def test_a_main_model_that_nobody_knows_is_told_and_a_tower_is_left_out():
    family = parse(SHELL, "shell.toml")
    with pytest.raises(
        FamilyError, match="config.json: text_config.model_type: expected a family that is known, found 'x'"
    ):
        readings(family, config(text_config={"model_type": "x"}), checkpoint(TEXT))
    with pytest.raises(FamilyError, match="no config: expected a family that is known, found None"):
        readings(family, None, checkpoint(TEXT))
    unknown = config(text_config=CONFIG.get("text_config"), vision_config={"model_type": "x"})
    assert [reading.family.name for reading in readings(family, unknown, checkpoint(TEXT))] == ["shell", "llama"]


def test_the_keys_that_norms_depend_on_are_dotted_where_they_are_nested():
    (whole, text, vision) = readings(parse(SHELL, "shell.toml"), CONFIG, checkpoint(TEXT))
    assert whole.keys == ("model_type",)
    assert set(text.keys) >= {"text_config.model_type", "text_config.hidden_size", "text_config.rms_norm_eps"}
    assert "vision_config.add_cross_attention" in vision.keys


def test_towers_that_nobody_knows_are_told():
    family = parse(SHELL, "shell.toml")
    unknown = config(text_config=CONFIG.get("text_config"), vision_config={"model_type": "x"})
    assert unknown_parts(family, unknown) == ("config.json: vision_config.model_type 'x'",)
    assert unknown_parts(family, CONFIG) == ()
    assert unknown_parts(family, None) == ()


def test_a_config_inside_a_config_says_where_it_stands():
    inner = nested(CONFIG, "vision_config")
    assert inner is not None
    assert (inner.get("n_embd"), inner.where) == (4, "config.json: vision_config")
    assert nested(config(), "vision_config") == config().__class__({}, "config.json: vision_config")
    assert nested(None, "vision_config") is None


def test_conditions_need_a_config_that_could_say():
    family = parse(SHELL.replace("[[part]]", """
[sizes.d]
default = 8
[[norm]]
name = "closing"
role = "final"
kind = "rms_norm"
shape = ["d"]
when = [{key = "closes", op = "truthy", default = true}]
[[part]]""", 1), "shell.toml")  # fmt: skip
    (whole, *_) = readings(family, CONFIG, checkpoint(TEXT))
    assert whole.holds(family.norms[0].when) is True
    only = parse(SHELL.partition("[[part]]")[0] + """
[[norm]]
name = "closing"
role = "final"
kind = "rms_norm"
shape = []
like = {tensor = "t.weight"}
when = [{key = "closes", op = "truthy", default = true}]
""", "only.toml")  # fmt: skip
    (bare,) = readings(only, None, checkpoint(TEXT))
    assert bare.holds(only.norms[0].when) is None
    (norm,) = promised(only, None, checkpoint(TEXT))
    assert norm.doubt == "whether it has one depends on closes"
    assert promised(only, config(closes=False), checkpoint(TEXT)) == ()


def test_what_an_exporter_calls_the_wrapped_model_stands_in_front_of_a_graphs_names():
    shapes = {f"inner.{name}": shape for name, shape in gpt2().items()}
    sites = tuple(NormSite(n, "layer_norm", f"inner.{n}.weight", None, 1e-5, "node") for n in ("h.0.ln_1", "ln_f"))
    graph = replace(checkpoint(shapes), format="onnx", norm_sites=sites, computes=True)
    given = config(n_embd=8, n_layer=2)
    assert {norm.gain in shapes for norm in promised(load("gpt2"), given, graph)} == {True}
    plain = replace(graph, computes=False, format="safetensors")  # loaders look these up by name
    assert all(norm.misnamed or norm.gain not in shapes for norm in promised(load("gpt2"), given, plain))
