"""Names with and without the family's prefix, behind wrappers, and with other frameworks' leaves."""

import pytest

from ln_audit.families.containers import View
from ln_audit.families.spelling import spelling, unwrap

PREFIXES = ("transformer.", "")


@pytest.mark.parametrize(
    ("tensors", "found"),
    [
        (["transformer.ln_f.weight"], ("transformer.ln_f.weight", None)),
        (["ln_f.weight"], ("ln_f.weight", None)),
        (["ln_f.gamma"], ("ln_f.gamma", "ln_f.weight")),
        (["transformer.ln_f.g"], ("transformer.ln_f.g", "transformer.ln_f.weight")),
        (
            ["module._orig_mod.transformer.ln_f.weight"],
            ("module._orig_mod.transformer.ln_f.weight", "transformer.ln_f.weight"),
        ),
        (["_orig_mod.module.ln_f.gamma"], ("_orig_mod.module.ln_f.gamma", "ln_f.weight")),
        (["other.ln_f.weight"], ("transformer.ln_f.weight", None)),
        ([], ("transformer.ln_f.weight", None)),
    ],
)
def test_a_promised_name_is_found_as_it_is_spelt(tensors, found):
    assert spelling(["ln_f.weight"], PREFIXES, View({name: name for name in tensors})).find("ln_f.weight") == found


@pytest.mark.parametrize(
    ("tensor", "found"),
    [
        ("bert.encoder.LayerNorm.gamma", ("bert.encoder.LayerNorm.gamma", None)),
        ("encoder.LayerNorm.gamma", ("encoder.LayerNorm.gamma", None)),
        ("encoder.LayerNorm.scale", ("encoder.LayerNorm.scale", "encoder.LayerNorm.weight")),
        ("module.encoder.LayerNorm.gamma", ("module.encoder.LayerNorm.gamma", "encoder.LayerNorm.weight")),
    ],
)
def test_gamma_is_read_behind_a_module_called_layernorm(tensor, found):
    spelt = spelling(
        ["encoder.LayerNorm.weight", "encoder.LayerNorm.gamma"],
        ("bert.", ""),
        View({tensor: tensor, "pooler": "pooler"}),
    )
    name, expected = spelt.find("encoder.LayerNorm.weight")
    assert (name, expected and expected.removeprefix("bert.")) == found


@pytest.mark.parametrize(
    "tensor",
    [
        "transformer.h.0._checkpoint_wrapped_module.ln_1.weight",
        "_fsdp_wrapped_module.transformer.h.0._fsdp_wrapped_module._checkpoint_wrapped_module.ln_1.weight",
        "module.transformer.h.0._orig_mod.ln_1.weight",
        "base_model.model.transformer.h.0.ln_1.weight",
        "language_model.module.model.transformer.h.0.ln_1.weight",
    ],
)
def test_wrappers_of_blocks_and_of_the_whole_come_off_in_any_order(tensor):
    spelt = spelling(["h.0.ln_1.weight"], PREFIXES, View({tensor: tensor}))
    assert spelt.find("h.0.ln_1.weight") == (tensor, "transformer.h.0.ln_1.weight")
    assert spelt.copies("h.0.ln_1.weight", "other") == (tensor,)


def test_a_wrapper_in_front_of_one_name_is_no_wrapper_of_the_familys_own_prefix():
    names = ["model.language_model.norm.weight", "model.vision_tower.norm.weight"]
    spelt = spelling(["norm.weight"], ("model.language_model.", "language_model.model."), View({n: n for n in names}))
    assert spelt.find("norm.weight") == ("model.language_model.norm.weight", None)
    assert spelt.copies("norm.weight", "model.language_model.norm.weight") == ()


def test_the_prefix_is_the_one_that_most_names_have():
    tensors = View({name: name for name in ("wte.weight", "h.0.ln_1.weight", "transformer.ln_f.weight")})
    assert spelling(["wte.weight", "h.0.ln_1.weight", "ln_f.weight"], PREFIXES, tensors).prefix == ""


def test_each_of_the_familys_prefixes_is_accepted_for_every_tensor_on_its_own():
    tensors = View({name: name for name in ("wte.weight", "h.0.ln_1.weight", "transformer.ln_f.weight")})
    spelt = spelling(["wte.weight", "h.0.ln_1.weight"], PREFIXES, tensors)
    assert spelt.find("ln_f.weight") == ("transformer.ln_f.weight", None)


def test_wrappers_come_off_one_by_one():
    assert list(unwrap("module._orig_mod.h.0")) == ["_orig_mod.h.0", "h.0"]
    assert list(unwrap("h.0")) == []


def test_a_hostile_name_does_not_cost_its_length_squared():
    import tracemalloc

    tensors = {"module." * 200_000 + "x": "a"}
    tracemalloc.start()
    spelt = spelling(["ln_f.weight"], PREFIXES, View({name: name for name in tensors}))
    assert spelt.find("ln_f.weight") == ("transformer.ln_f.weight", None)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_other_tensors_that_stand_for_the_same_norm_are_known():
    names = ["transformer.ln_f.weight", "ln_f.weight", "ln_f.gamma", "module.transformer.ln_f.weight", "other.weight"]
    spelt = spelling(["ln_f.weight"], PREFIXES, View({name: name for name in names}))
    assert sorted(spelt.copies("ln_f.weight", "transformer.ln_f.weight")) == [
        "ln_f.gamma",
        "ln_f.weight",
        "module.transformer.ln_f.weight",
    ]


def test_a_model_inside_a_model_keeps_its_prefix_in_a_layout_of_other_names():
    from ln_audit.families.names_table import names

    renamed = names({"names": {"text_model.norm": "ln_final", "norm": "other"}})
    made = View({"text_model.norm.weight": "ln_final.weight"}, renamed)
    spelt = spelling(["norm.weight"], ("text_model.",), made)
    assert (spelt.prefix, spelt.find("norm.weight")) == ("text_model.", ("ln_final.weight", None))
    bare = spelling(["norm.weight"], ("model.",), View({"norm.weight": "other.weight"}, renamed))
    assert (bare.prefix, bare.find("norm.weight")) == ("", ("other.weight", None))
    assert spelling(["norm.weight"], ("model.",), View({}, renamed)).find("norm.weight") == ("other.weight", None)
