"""A waiver accepts one rule on one norm until a day; it hides nothing, and nothing that was not decided."""

from dataclasses import replace
from datetime import date

import pytest

from ln_audit import policy, waivers
from ln_audit.demand import Demand, Policy, Waiver
from ln_audit.families.recognise import load
from ln_audit.result import Finding, Rule
from tests.checks.subject_builder import norm, subject

ZERO = Rule("LN102", "zero-gain")
TODAY, LATER, BEFORE = date(2027, 1, 15), date(2027, 1, 31), date(2027, 1, 14)
BLOCK = norm("transformer.h.3.ln_1", promised="h.3.ln_1", layer=3, role="block")


def waiver(name: str, rule: str = "LN102", until: date = LATER) -> Waiver:
    return Waiver(rule, name, "pruned on purpose", until)


def of(*given: Waiver):
    return subject({}, BLOCK, norm(), demand=Demand(policy=Policy("ln-audit.toml", "0" * 64, {}, given, TODAY)))


def outcome(finding: Finding, *given: Waiver) -> Finding:
    (found,) = waivers.applied([finding], of(*given))
    return found


def test_a_failure_becomes_a_warning_that_says_until_when_and_why():
    failed = ZERO.failed("transformer.h.3.ln_1", "3 of 4 are zero", "retrain", share=0.75)
    found = outcome(failed, waiver("h.3.ln_1"))
    assert found == replace(
        failed,
        status="warn",
        reason="waived until 2027-01-31: pruned on purpose; retrain",
        evidence={
            "share": 0.75,
            "waived_from": "fail",
            "waived_until": "2027-01-31",
            "waived_because": "pruned on purpose",
        },
    )
    assert waivers.waived(found)
    assert (
        outcome(replace(failed, reason=""), waiver("h.3.ln_1")).reason == "waived until 2027-01-31: pruned on purpose"
    )


@pytest.mark.parametrize(
    ("name", "subject_", "accepted"),
    [
        ("h.3.ln_1", "transformer.h.3.ln_1", True),
        ("transformer.h.3.ln_1", "transformer.h.3.ln_1", True),
        ("h.{layer}.ln_1", "transformer.h.3.ln_1", True),
        ("h.{layer}.ln_1", "transformer.h.3.ln_1 against run.safetensors: epsilon", True),
        ("h.{layer}.ln_1", "transformer.h.3.ln_1.weight", True),
        ("all 5 norms", "all 5 norms", True),
        ("h.{layer}.ln_2", "transformer.h.3.ln_1", False),
        ("transformer.h.{layer}.ln_1", "transformer.h.3.ln_1", True),
        ("h.3.ln_1", "h.3.ln_1", True),
        ("transformer.h.3.ln_1", "h.3.ln_1", True),
        ("h.3.ln_1", "the 2 norms of h.3", False),
        ("ln_f", "2 norms", False),
        ("h.{layer}{other}{more}.ln_1", "transformer.h.3.ln_1", False),
        ("h.{layer}", "transformer.h.3.ln_1", False),
        ("h.*", "transformer.h.3.ln_1", False),
        ("h.3.ln_.", "transformer.h.3.ln_1", False),
        ("h.3.ln_1", "all 5 norms", False),
        ("ln_f", "transformer.h.3.ln_1", False),
    ],
)
def test_which_norm_is_said_by_its_name_a_pattern_or_as_the_report_says_it(name, subject_, accepted):
    assert waivers.waived(outcome(ZERO.failed(subject_, "zero"), waiver(name))) == accepted


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("blk.1.attn_norm", True),
        ("layers.1.input_layernorm", True),
        ("model.layers.1.input_layernorm", True),
        ("layers.{layer}.input_layernorm", True),
        ("model.layers.{layer}.input_layernorm", True),
        ("other.layers.1.input_layernorm", False),
        ("model.layers.0.input_layernorm", False),
    ],
)
def test_the_familys_own_name_is_known_in_every_container(name, accepted):
    of_gguf = norm("blk.1.attn_norm", promised="layers.1.input_layernorm", layer=1, role="block", bias=None)
    demand = Demand(policy=Policy("ln-audit.toml", "0" * 64, {}, (waiver(name),), TODAY))
    (found,) = waivers.applied(
        [ZERO.failed("blk.1.attn_norm.weight", "zero")], subject({}, of_gguf, family=load("llama"), demand=demand)
    )
    assert waivers.waived(found) == accepted


def test_what_stands_in_front_of_a_part_is_not_taken_for_that_of_another():
    tower = norm("vision.h.3.ln_1", promised="h.3.ln_1", layer=3, role="block", stack="vision")
    demand = Demand(policy=Policy("ln-audit.toml", "0" * 64, {}, (waiver("transformer.h.3.ln_1"),), TODAY))
    found = waivers.applied(
        [ZERO.failed(each.name, "zero") for each in (BLOCK, tower)], subject({}, BLOCK, tower, demand=demand)
    )
    assert [waivers.waived(each) for each in found] == [True, False]


def test_it_is_of_one_rule_and_of_its_days():
    failed = ZERO.failed("ln_f", "zero")
    assert outcome(failed, waiver("ln_f", "LN103")) == failed
    assert outcome(failed, waiver("ln_f", until=BEFORE)) == failed
    assert waivers.waived(outcome(failed, waiver("ln_f", until=TODAY)))


def test_what_was_not_decided_and_what_passed_is_not_touched():
    skipped = ZERO.skipped("ln_f", "not read", required=True)
    passed = ZERO.passed("ln_f", "no zero")
    assert waivers.applied([skipped, passed], of(waiver("ln_f"))) == (skipped, passed)


def test_strict_fails_warnings_but_no_waived_ones():
    findings = [ZERO.warned("ln_f", "one zero"), ZERO.warned("transformer.h.3.ln_1", "one zero")]
    held = policy.apply(waivers.applied(findings, of(waiver("ln_f"))), frozenset(), strict="--strict")
    assert [finding.status for finding in held] == ["warn", "fail"]


def test_one_that_accepts_nothing_here_is_told():
    given = of(waiver("ln_f"), waiver("h.{layer}.ln_1"), waiver("gone", until=BEFORE))
    findings = waivers.applied([ZERO.failed("ln_f", "zero")], given)
    assert list(waivers.unused(findings, given)) == [
        "ln-audit.toml: waiver of LN102 for h.{layer}.ln_1: nothing here to waive"
    ]
    assert list(waivers.unused([], subject({}, norm()))) == []
