from dataclasses import replace

from ln_audit.checks import unexpected_norm
from ln_audit.formats.config import Config
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject


def test_nothing_beyond_the_model_passes():
    block = norm("h.0.ln_1", role="block", layer=0)
    tensors = WHOLE | {
        "h.0.ln_1.weight": floats(1, 2, 3, 4),
        "h.0.ln_1.bias": floats(1, 2, 3, 4),
        "x.h.9.attn.scale": floats(1),
    }
    other = norm("h.0.ln_2", role="block", layer=0)
    assert found(unexpected_norm, subject(tensors, block, other, norm())) == [
        ("pass", "model.safetensors", "no norm tensor beyond what the model has")
    ]


def test_a_layer_beyond_the_configured_depth_fails():
    blocks = [norm(f"h.0.ln_{which}", role="block", layer=0) for which in (1, 2)]
    deeper = subject({"transformer.h.1.ln_2.weight": floats(1)}, *blocks, config=Config({"n_layer": 1}, "config.json"))
    assert found(unexpected_norm, deeper) == [
        (
            "fail",
            "transformer.h.1.ln_2.weight",
            "model.safetensors: transformer.h.1.ln_2.weight: expected layers 0 to 0, found layer 1",
        )
    ]


def test_a_bias_that_the_family_does_not_have_fails_unless_it_is_all_zeros():
    assert found(unexpected_norm, subject(WHOLE, norm(bias=None, kind="rms_norm"))) == [
        ("fail", "ln_f", "model.safetensors: ln_f.bias: expected no bias (rms_norm), found one")
    ]
    zeros = WHOLE | {"ln_f.bias": floats(0, 0, 0, 0)}
    assert found(unexpected_norm, subject(zeros, norm(bias=None, kind="rms_norm"))) == [
        ("warn", "ln_f", "model.safetensors: ln_f.bias: expected no bias (rms_norm), found one, all zeros")
    ]


def test_a_norm_that_the_config_rules_out_fails_if_it_says_so_and_is_doubted_if_that_is_only_the_default():
    tensors = WHOLE | {"h.0.ln_cross_attn.weight": floats(1, 2, 3, 4)}
    for config, status, value in (({"add_cross_attention": False}, "fail", "False"), ({}, "warn", "its default")):
        made = subject(tensors, norm(), config=Config(config, "config.json"))
        told = f"expected no such norm (add_cross_attention is {value}), found one"
        name = "h.0.ln_cross_attn.weight"
        assert found(unexpected_norm, made) == [(status, name, f"model.safetensors: {name}: {told}")]


def test_an_unknown_family_expects_nothing():
    assert found(unexpected_norm, subject(WHOLE, norm(), family=None)) == []


def test_a_norms_name_of_another_container_is_a_warning_and_an_optimizers_slot_is_not():
    tensors = {"output_norm.weight": floats(1, 2, 3, 4), "ln_f.weight": floats(1, 2, 3, 4)}
    made = subject(tensors, norm("output_norm"))
    made = replace(made, checkpoint=replace(made.checkpoint, format="gguf"))
    assert found(unexpected_norm, made) == [
        (
            "warn",
            "ln_f.weight",
            "model.safetensors: ln_f.weight: expected only names that gguf has for gpt2, found another norm",
        )
    ]
    slots = subject({"model/ln_f/g": floats(1, 2), "model/ln_f/g/Adam": floats(1, 2)}, norm("model/ln_f"))
    slots = replace(slots, checkpoint=replace(slots.checkpoint, format="tensorflow"))
    assert [status for status, *_ in found(unexpected_norm, slots)] == ["pass"]


def test_vectors_named_like_norms_that_no_table_knows_are_told():
    tensors = WHOLE | {
        "h.0.attn.q_norm.weight": floats(1, 2),
        "h.0.attn.kln.weight": floats(1),
        "h.0.ln_9.scale": floats(1),
    }
    assert found(unexpected_norm, subject(tensors, norm())) == [
        (
            "warn",
            "model.safetensors",
            "model.safetensors: h.0.attn.q_norm.weight, h.0.ln_9.scale: expected no such norm in gpt2, found what is called like one",
        )
    ]


def test_a_gain_where_the_norm_has_no_parameters_fails():
    bare = norm("h.0.ln_1", gain=None, bias=None)
    tensors = WHOLE | {"h.0.ln_1.weight": floats(1, 2, 3, 4)}
    told = "model.safetensors: h.0.ln_1.weight: expected no gain (layer_norm without parameters), found one"
    assert ("fail", "h.0.ln_1", told) in found(unexpected_norm, subject(tensors, bare, norm()))
