"""What is derived of a type are the facts of its modeling file."""

import pytest

pytest.importorskip("transformers")
from scripts.derive import tables

pytestmark = pytest.mark.peers


def row(table, name):
    return next(each for each in table["norm"] if each["name"] == name)


def test_llama_is_derived_whole():
    table = tables.derive("llama")
    assert [each["name"] for each in table["norm"]] == [
        "layers.{layer}.input_layernorm",
        "layers.{layer}.post_attention_layernorm",
        "norm",
    ]
    assert {each["chain"] for each in table["norm"]} == {"before_gain"}
    assert {tuple(each["shape"]) for each in table["norm"]} == {("hidden_size",)}
    assert [each["role"] for each in table["norm"]] == ["block", "block", "final"]
    assert (table["epsilon"], table["prefixes"]) == (
        {"keys": ["rms_norm_eps"], "default": 1e-6},
        ["model.", "", "transformer."],
    )
    assert table["sizes"]["num_hidden_layers"] == {"default": 32, "count": "layers.{layer}."}


def test_opts_final_norm_hangs_on_three_keys():
    final = [each for each in tables.derive("opt")["norm"] if each["role"] == "final" and each["gain"] == "required"]
    assert [(each["name"], sorted(when["key"] for when in each["when"])) for each in final] == [
        (
            "decoder.final_layer_norm",
            ["_remove_final_layer_norm", "do_layer_norm_before", "layer_norm_elementwise_affine"],
        )
    ]


def test_a_post_norm_model_has_no_final_norm_and_its_heads_norm_is_rooted():
    table = tables.derive("bert")
    assert "final" not in {each["role"] for each in table["norm"]}
    head = row(table, "cls.predictions.transform.LayerNorm")
    assert (head["rooted"], head["beside"], head["role"]) == (True, "cls.predictions.transform.", "other")


def test_an_encoder_decoder_has_a_final_norm_per_stack_and_its_cross_attention_may_be_absent():
    table = tables.derive("mbart")
    finals = [(each["name"], each["stack"]) for each in table["norm"] if each["role"] == "final"]
    assert finals == [("encoder.layer_norm", "encoder"), ("decoder.layer_norm", "decoder")]
    cross = row(table, "decoder.layers.{layer}.encoder_attn_layer_norm")
    assert cross["beside"] == "decoder.layers.{layer}.encoder_attn."


def test_a_hybrids_norms_are_required_beside_what_has_them():
    table = tables.derive("qwen3_next")
    assert row(table, "layers.{layer}.self_attn.q_norm")["beside"] == "layers.{layer}.self_attn."
    assert row(table, "layers.{layer}.linear_attn.norm")["kind"] == "gated_rms_norm"
    assert row(table, "norm")["weight_offset"] == 1.0
    assert row(table, "mtp.norm")["beside"] == "mtp.fc."


def test_a_composites_parts_are_named_by_their_configs():
    table = tables.derive("llava")
    assert [(part["config"], part["default"], part["stack"]) for part in table["part"]] == [
        ("vision_config", "clip_vision_model", "vision"),
        ("text_config", "llama", "decoder"),
    ]
    assert table["part"][1]["prefixes"][0] == "language_model.model."


def test_names_are_those_of_the_saved_file():
    assert tables.derive("exaone")["prefixes"][0] == "transformer."
    assert row(tables.derive("exaone"), "ln_f")["role"] == "final"


def test_heads_count_their_own_norms_and_derived_widths_are_quotients():
    table = tables.derive("stablelm")
    head = row(table, "layers.{layer}.self_attn.q_layernorm.norms.{head}")
    assert (head["layers"], head["counts"]) == ("num_hidden_layers", {"head": "num_attention_heads"})
    (width,) = head["shape"]
    assert table["sizes"][width]["over"] == ["num_attention_heads"]


def test_rows_by_hand_replace_derived_ones_and_finals_stay_last():
    table = {
        "name": "acme",
        "source": "s",
        "norm": [{"name": "a", "role": "block"}, {"name": "z", "role": "final"}],
        "sizes": {},
    }
    merged = tables.merged(table, {"why": "why.", "source": "page", "norm": [{"name": "a", "role": "other"}]})
    assert [(each["name"], each["role"]) for each in merged["norm"]] == [("a", "other"), ("z", "final")]
    assert merged["by_hand"] == "why. Source: page."


def test_a_projectors_epsilon_follows_the_part_it_takes_it_from():
    assert tables.derive("gemma3")["epsilon"]["keys"] == ["vision_config.layer_norm_eps"]


def test_the_decoder_of_another_encoder_has_a_cross_attention_beside_its_attention():
    cross = row(tables.derive("bert"), "encoder.layer.{layer}.crossattention.output.LayerNorm")
    assert (cross["beside"], cross["layers"]) == ("encoder.layer.{layer}.crossattention.", "num_hidden_layers")


def test_an_encoder_decoder_of_any_two_families_has_nothing_of_its_stand_ins():
    table = tables.derive("encoder-decoder")
    assert [(part["config"], part.get("default")) for part in table["part"]] == [("encoder", None), ("decoder", None)]
    assert (table["sizes"], table["main"]) == ({}, ["decoder", "encoder"])


def test_what_a_class_does_not_build_or_calls_otherwise_is_under_its_name():
    table = {"name": "acme", "source": "s", "prefixes": [""], "part": [{"config": "text_config"}]}
    table["norm"] = [{"name": "decoder.a", "like": {"tensor": "decoder.b"}}, {"name": "encoder.a"}]
    unlike = {"key": "architectures", "op": "ne", "value": ["Small"]}
    merged = tables.merged(table, {"unbuilt": {"Small": ["decoder.", "text_config"]}})
    assert [each.get("when") for each in (*merged["norm"], *merged["part"])] == [[unlike], None, [unlike]]
    merged = tables.merged(table, {"spelt": {"Small": {"decoder.": ""}}})
    assert merged["norm"] == [
        {"name": "decoder.a", "like": {"tensor": "decoder.b"}, "when": [unlike]},
        {"name": "a", "like": {"tensor": "b"}, "when": [unlike | {"op": "eq"}]},
        {"name": "encoder.a"},
    ]
