"""The artifact against its source: one finding per norm, one per epsilon, and what has no partner."""

from dataclasses import replace

import numpy as np

from ln_audit.against.compared import compare
from ln_audit.checks import differs_from_source
from ln_audit.checks.subject import Twin
from ln_audit.demand import Demand
from ln_audit.families.recognise import load
from ln_audit.result import leads
from tests.against.made import GAIN, norm, side
from tests.checks.subject_builder import found, subject

FAMILY = load("gpt2")
BLOCK, FINAL = norm("layers.0.ln", 0), norm()
SOURCE = {"layers.0.ln.weight": GAIN, "norm.weight": GAIN * 2}

FURTHER = "; trained further from it? then add --expect derived"


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
    assert (final.status, final.reason) == (
        "fail",
        "perhaps another model: /model and /base; 1 of 2 norms are right" + FURTHER,
    )
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


def families(ours, theirs, tensors, **changes):
    """The findings on an artifact of one family, held to a source of another."""
    other = {name: values + np.linspace(0.1, 0.9, 8, dtype=np.float32) for name, values in SOURCE.items()}
    held = compare(side(tensors or other, BLOCK, FINAL, **changes), side(SOURCE, BLOCK, FINAL), "same")
    made = subject(tensors or other, BLOCK, FINAL, demand=Demand(against="base"), family=ours)
    return [*differs_from_source.check(replace(made, twin=Twin("base", "/base", held, family=theirs)))]


def test_two_families_are_said_first_where_nothing_is_the_sources():
    first, *rest = families(FAMILY, "llama", None)
    assert (first.status, first.subject) == ("fail", "family of model.safetensors")
    assert first.message == (
        f"model.safetensors: expected a model of family llama, as base is, found one of family {FAMILY.name}"
    )
    assert first.evidence == {"explains": "all that differs from the source"}
    assert leads(first)
    assert {each.status for each in rest if each.subject in ("layers.0.ln", "norm")} == {"fail"}
    assert not any(map(leads, rest))


def test_one_family_two_names_for_the_same_norms_and_one_that_cannot_be_told_explain_nothing():
    assert not any(map(leads, families(FAMILY, FAMILY.name, None)))
    assert not any(map(leads, families(FAMILY, None, None)))
    assert not any(map(leads, families(None, "llama", None)))
    assert {each.status for each in families(FAMILY, "llama", SOURCE)} == {"pass"}  # a Mistral in GGUF is a llama
    half = SOURCE | {"norm.weight": GAIN * 2 + np.linspace(0.1, 0.9, 8, dtype=np.float32)}
    found_ = families(FAMILY, "llama", half)
    assert [each.status for each in found_] == ["pass", "fail", "pass"]


def test_a_family_that_cannot_be_told_is_named_where_no_norm_could_be_paired():
    named = {"a.norm.weight": GAIN}
    compared = compare(side(named, family=None), side({"b.norm.weight": GAIN}, family=None), "same")
    made = subject(named, demand=Demand(against="base"), family=None)
    first, *_ = differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
    assert (first.status, first.required) == ("skip", True)
    assert first.reason == (
        "no norm of it could be paired with one of base: the family of base and of model.safetensors cannot be told:"
        " give --family, or --config"
    )


def test_where_norms_were_paired_by_name_a_difference_says_why_that_may_be():
    named, other = {"a.norm.weight": GAIN}, {"a.norm.weight": GAIN * np.linspace(1, 3, 8, dtype=np.float32)}
    compared = compare(side(named, family=None), side(other, family=None), "same")
    made = subject(named, demand=Demand(against="base"))
    first, *_ = differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
    untold = "the family of base cannot be told, so norms were paired by their tensors' names"
    assert first.status == "fail"
    assert first.reason == f"{untold}: perhaps another model: /model and /base; 0 of 1 norms are right{FURTHER}"


def test_of_unknown_families_another_model_type_leads_and_an_epsilon_names_its_key():
    named = {"a.norm.weight": GAIN}
    ours, theirs = {"model_type": "a", "rms_norm_eps": 1e-5}, {"model_type": "b", "rms_norm_eps": 1e-6}
    compared = compare(side(named, family=None, config=ours), side(named, family=None, config=theirs), "same")
    made = subject(named, demand=Demand(against="base"), family=None)
    failed = [
        each
        for each in differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
        if each.status == "fail"
    ]
    assert [(each.message.partition(": expected")[0], leads(each)) for each in failed] == [
        ("model.safetensors: model_type", True),
        ("model.safetensors: rms_norm_eps", False),
    ]
    assert failed[1].reason == "the epsilon was not handed on: set rms_norm_eps to 1e-06 in the config"


def test_an_epsilon_that_was_not_handed_on_names_the_key_and_the_file():
    other = replace(FINAL, eps=1e-6, eps_source="config.json: rms_norm_eps")
    compared = compare(side(SOURCE, BLOCK, other), side(SOURCE, BLOCK, FINAL), "same")
    made = subject(SOURCE, BLOCK, other, demand=Demand(against="base"))
    failed = [
        each
        for each in differs_from_source.check(replace(made, twin=Twin("base", "/base", compared)))
        if each.status == "fail"
    ]
    assert [each.reason for each in failed] == [
        "it was not handed on: set rms_norm_eps to 1e-05 in config.json, or convert again"
    ]


def test_how_far_a_norm_is_off_stands_in_its_evidence():
    half = SOURCE | {"norm.weight": GAIN * 2 + np.linspace(0.125, 0.5, 8, dtype=np.float32)}
    (wrong,) = [each for each in families(FAMILY, "llama", half) if each.status == "fail"]
    assert wrong.evidence == {"apart": 0.5}
