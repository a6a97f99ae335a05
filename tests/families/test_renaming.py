"""Names in another convention and back: by patterns, with numbers that are numbers, and as fast as look-ups."""

import time

import pytest

from ln_audit.families.renaming import Patterns, Renaming

GGUF = Patterns(
    [
        ("output_norm", "norm"),
        ("blk.{layer}.attn_norm", "layers.{layer}.input_layernorm"),
        ("blk.{layer}.ffn_norm", "layers.{layer}.post_attention_layernorm"),
        ("v.blk.{block}.{stage}.norm", "tower.{block}.stages.{stage}.ln"),
    ]
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("output_norm", "norm"),
        ("blk.0.attn_norm", "layers.0.input_layernorm"),
        ("blk.1234567.ffn_norm", "layers.1234567.post_attention_layernorm"),
        ("v.blk.3.12.norm", "tower.3.stages.12.ln"),
        ("blk.00.attn_norm", None),
        ("blk.12345678.attn_norm", None),
        ("blk.².attn_norm", None),
        ("blk..attn_norm", None),
        ("blk.0.attn_norm.more", None),
        ("xblk.0.attn_norm", None),
        ("v.blk.03.1.norm", None),
        ("norm", None),
        ("", None),
    ],
)
def test_a_name_has_the_other_name_of_the_pattern_that_covers_it(name, found):
    assert GGUF(name) == found


def test_a_layer_may_stand_inside_a_word():
    assert Patterns([("model/h{layer}/ln_1", "h.{layer}.ln_1")])("model/h11/ln_1") == "h.11.ln_1"


def test_of_two_patterns_that_read_the_same_the_first_counts():
    assert Patterns([("a.{layer}", "b.{layer}"), ("a.{layer}", "c.{layer}")])("a.1") == "b.1"


def test_the_leaf_is_renamed_by_itself_and_roots_come_off():
    rename = Renaming(
        Patterns([("emb", "wte.weight")]),
        Patterns([("h{layer}/ln", "h.{layer}.ln")]),
        "/",
        ".",
        {"g": "weight"},
        ("model/more/", "model/"),
    )
    names = ["model/h3/ln/g", "model/more/h3/ln/b", "h3/ln/g", "model/emb", "emb", "model/h3/other/g", "g"]
    assert [rename(name) for name in names] == [
        "h.3.ln.weight", "h.3.ln.b", "h.3.ln.weight", "wte.weight", "wte.weight", None, None,
    ]  # fmt: skip


def test_ten_thousand_names_cost_as_many_look_ups():
    many = [(f"blk.{{layer}}.part_{i}", f"layers.{{layer}}.part.{i}") for i in range(200)]
    rename = Renaming(Patterns([]), Patterns(many))
    names = [f"blk.{i // 200}.part_{i % 200}.weight" for i in range(10_000)]
    begin = time.perf_counter()
    assert [rename(name) for name in names][-1] == "layers.49.part.199.weight"
    assert time.perf_counter() - begin < 0.2  # 15 ms on a slow core
