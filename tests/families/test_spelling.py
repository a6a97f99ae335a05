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
