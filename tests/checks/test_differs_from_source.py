"""The artifact against its source: one finding per norm, one per epsilon, and what has no partner."""

from dataclasses import replace

import numpy as np

from ln_audit.against.compared import compare
from ln_audit.checks import differs_from_source
from ln_audit.checks.subject import Twin
from ln_audit.demand import Demand
from tests.against.made import GAIN, norm, side
from tests.checks.subject_builder import found, subject

BLOCK, FINAL = norm("layers.0.ln", 0), norm()
SOURCE = {"layers.0.ln.weight": GAIN, "norm.weight": GAIN * 2}


def against(tensors, *norms, theirs=(BLOCK, FINAL), source=None, **changes):
    """The findings on an artifact of these tensors, held to the source."""
    norms = norms or (BLOCK, FINAL)
    compared = compare(side(tensors, *norms, **changes), side(source or SOURCE, *theirs), "same")
    made = subject(tensors, *norms, demand=Demand(against="base"))
    return found(differs_from_source, replace(made, twin=Twin("base", "/base", compared)))


def test_without_a_source_nothing_is_said_and_one_that_was_not_read_closes_the_gate():
    assert found(differs_from_source, subject(SOURCE, FINAL)) == []
    made = subject(SOURCE, FINAL, demand=Demand(against="base"))
    (finding,) = differs_from_source.check(
        replace(made, twin=Twin("base", "/base", failure="base: expected a folder, found none"))
    )
    assert (finding.status, finding.required) == ("skip", True)
    assert finding.reason == "the source was not compared: base: expected a folder, found none"
    (finding,) = differs_from_source.check(made)
    assert (finding.status, finding.required) == ("skip", True)


def test_the_same_norms_pass_with_how_they_are_the_same():
    assert against(SOURCE) == [
        ("pass", "layers.0.ln", "gain bit for bit"),
        ("pass", "norm", "gain bit for bit"),
        ("pass", "epsilon of 2 norms", "epsilon 1e-05 on both sides"),
    ]


def test_blocks_right_and_final_wrong_is_said():
    (_, final, _) = differs_from_source.check(
        replace(
            subject(SOURCE, BLOCK, FINAL, demand=Demand(against="base")),
            twin=Twin("base", "/base", compare(side(SOURCE | {"norm.weight": GAIN * 2 + 1}, BLOCK, FINAL), side(SOURCE, BLOCK, FINAL), "same")),
        )
    )  # fmt: skip
    told = "expected the source's gain, found offset +1 in every element: expected the source's own values"
    assert (final.status, final.message) == ("fail", f"model.safetensors: norm.weight: {told}")
    assert final.reason.endswith("1 of 2 norms are right")


def test_what_nothing_explains_names_both_models():
    other = {"layers.0.ln.weight": GAIN, "norm.weight": GAIN * np.linspace(1, 3, 8, dtype=np.float32)}
    made = subject(other, BLOCK, FINAL, demand=Demand(against="base"))
    compared = compare(side(other, BLOCK, FINAL), side(SOURCE, BLOCK, FINAL), "same")
    (_, final, _) = differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
    assert (final.status, final.reason) == ("fail", "perhaps another model: /model and /base; 1 of 2 norms are right")
    assert "corrupt" not in final.message + final.reason


def test_an_epsilon_that_was_not_handed_on_fails_and_one_equal_in_float32_passes():
    other = (replace(BLOCK, eps=1e-6), replace(FINAL, eps=1e-6))
    assert against(SOURCE, *other)[-1] == (
        "fail",
        "epsilon of 2 norms",
        "config.json: eps: expected epsilon 1e-05 (base: config.json: eps), found 1e-06",
    )
    same = (replace(BLOCK, eps=9.999999747378752e-06), replace(FINAL, eps=9.999999747378752e-06))
    assert against(SOURCE, *same)[-1][0] == "pass"
    unknown = (replace(BLOCK, eps=None), replace(FINAL, eps=None))
    assert against(SOURCE, *unknown)[-1][0] == "skip"


def test_another_kind_and_another_number_of_layers_fail():
    assert against(SOURCE, BLOCK, replace(FINAL, kind="layer_norm"))[1] == (
        "fail",
        "norm",
        "model.safetensors: norm: expected rms_norm as base says, found layer_norm",
    )
    deeper = SOURCE | {"layers.1.ln.weight": GAIN}
    assert against(SOURCE, theirs=(BLOCK, norm("layers.1.ln", 1), FINAL), source=deeper)[-1] == (
        "fail",
        "1 norms of base",
        "model.safetensors: expected the 1 norms that base has besides (layers.1.ln), found none of them",
    )
    tower = norm("tower.ln", stack="vision", main=False)
    assert against(SOURCE, theirs=(BLOCK, FINAL, tower), source=SOURCE | {"tower.ln.weight": GAIN})[-1][0] == "skip"


def test_gains_of_ones_close_the_gate_until_a_recording_decides():
    ones = {"layers.0.ln.weight": np.ones(8, np.float32), "norm.weight": GAIN * 2}
    made = subject(ones, BLOCK, FINAL, demand=Demand(against="base"))
    compared = compare(side(ones, BLOCK, FINAL), side(SOURCE, BLOCK, FINAL), "same")
    (block, *_) = differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
    assert (block.status, block.required) == ("skip", True)


def test_an_unknown_family_pairs_by_name_and_two_containers_do_not():
    named = {"a.norm.weight": GAIN}
    assert against(named, theirs=(), source=named, family=None)[-1] == (
        "skip",
        "epsilon",
        "no epsilon is written on either side",
    )
    assert against(named, theirs=(), source=named, family=None)[0] == ("pass", "a.norm.weight", "gain bit for bit")
    assert against(named, theirs=(), source=named, family=None, format_="gguf")[-1][0] == "skip"


def test_an_unknown_familys_configs_must_say_the_same_epsilon():
    named = {"a.norm.weight": GAIN}
    ours, theirs = ({"rms_norm_eps": 1e-5}, {"rms_norm_eps": 1e-6})
    for config, status in ((theirs, "pass"), (ours, "fail")):
        compared = compare(side(named, family=None, config=config), side(named, family=None, config=theirs), "same")
        made = subject(named, demand=Demand(against="base"), family=None)
        told = found(differs_from_source, replace(made, twin=Twin("base", "/base", compared)))[-1]
        assert told[0] == status
    assert told[2] == "model.safetensors: rms_norm_eps: expected 1e-06 as base says, found 1e-05"
