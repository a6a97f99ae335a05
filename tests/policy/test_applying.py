"""A policy only ever adds; a call that says otherwise is refused."""

from dataclasses import replace

import pytest

from ln_audit import checks, policy
from ln_audit.demand import Demand, Policy, PolicyTarget, Rules
from ln_audit.errors import UsageError
from ln_audit.result import Rule
from tests.shared import FIXTURES

RULE = Rule("LN107", "known-values")
LOCK = str(FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock")

NONE = Rules()


def under(rules: Rules = NONE, *targets: PolicyTarget, **call: object) -> Demand:
    return Demand(policy=Policy("p.toml", "0" * 64, rules=rules, targets=targets), **call)  # type: ignore[arg-type]


def test_rules_are_required_by_id_name_or_all():
    assert policy.required(["LN107", "missing-norm"]) == {"LN107", "LN001"}
    assert policy.required(["all"]) == {check.RULE.id for check in checks.CHECKS}
    assert policy.required([]) == frozenset()


def test_an_unknown_rule_is_a_usage_error():
    with pytest.raises(UsageError, match="rule 'LN998': expected a rule's id or name, found none of that name"):
        policy.required(["LN998"])


def test_a_required_skip_becomes_required_and_nothing_else_changes():
    skip, other = RULE.skipped("a", "why"), Rule("LN001", "missing-norm").skipped("b", "why")
    applied = policy.apply([skip, other, RULE.passed("c", "ok")], frozenset({"LN107"}), strict="")
    assert [finding.required for finding in applied] == [True, False, False]
    assert applied[1:] == (other, RULE.passed("c", "ok"))


def test_strict_fails_warnings_and_says_by_what():
    (held,) = policy.apply([RULE.warned("a", "odd")], frozenset(), strict="--strict")
    assert (held.status, held.reason) == ("fail", "a warning, failed by --strict")
    assert policy.apply([RULE.warned("a", "odd")], frozenset(), strict="") == (RULE.warned("a", "odd"),)


@pytest.mark.parametrize(
    ("demand", "by"),
    [
        (Demand(), ""),
        (Demand(strict=True), "--strict"),
        (under(strict=True), "--strict"),
        (under(Rules(strict=True)), "strict in p.toml"),
        (under(Rules(strict=True), strict=True), "strict in p.toml"),
    ],
)
def test_by_what_warnings_fail(demand, by):
    assert policy.strict_by(demand) == by
    assert policy.held(demand).strict == bool(by)


def test_what_the_policy_asks_for_is_added_to_the_call_and_adding_it_again_changes_nothing():
    rules = Rules(
        require=("LN202",), strict=True, values="all", output_dtype="bfloat16", before_rounded="float16", norm="ln_f",
        family="gpt2", config="c.json", revision="main", against="a", expect="derived", lock="l", recordings=("r",),
    )  # fmt: skip
    demand = under(rules, require=("LN107", "LN202"), recordings=("own", "r"))
    found = policy.held(demand)
    assert found == replace(
        demand, require=("LN202", "LN107"), strict=True, values="all", output_dtype="bfloat16", before_rounded="float16",
        norm="ln_f", family="gpt2", config="c.json", revision="main", against="a", expect="derived", lock="l",
        recordings=("r", "own"),
    )  # fmt: skip
    assert policy.held(found) == found
    assert policy.held(Demand(norm="x")) == Demand(norm="x")


@pytest.mark.parametrize(
    ("rules", "call", "message"),
    [
        (Rules(values="all"), {"values": "final"}, "--values: expected all, as p.toml says, found final"),
        (
            Rules(output_dtype="float32"),
            {"output_dtype": "float16"},
            "--output-dtype: expected float32, as p.toml says, ",
        ),
        (Rules(before_rounded="float32"), {"before_rounded": "float16"}, "--before-rounded: expected float32, "),
        (Rules(lock="a"), {"lock": "b"}, "--lock: expected a, as p.toml says, found b"),
        (Rules(family="gpt2"), {"family": "llama"}, "--family: expected gpt2, "),
        (Rules(revision="a"), {"revision": "b"}, "--revision: expected a, "),
        (Rules(config="a"), {"config": "b"}, "--config: expected a, "),
        (Rules(norm="a"), {"norm": "b"}, "--norm: expected a, "),
        (Rules(against="a"), {"against": "b"}, "--against: expected a, "),
        (
            Rules(against="a"),
            {"against": "a", "expect": "derived"},
            "--expect: expected same, as p.toml says, found derived",
        ),
    ],
)
def test_a_call_that_says_otherwise_is_refused(rules, call, message):
    with pytest.raises(UsageError) as caught:
        policy.held(under(rules, **call))
    assert caught.value.message.startswith(message)
    assert caught.value.hint == "a call adds to the policy and changes nothing in it: leave the option out"


def test_targets_of_the_policy_are_taken_where_a_call_names_none():
    demand = under(Rules(), PolicyTarget("a"), PolicyTarget("b"))
    assert policy.named(demand) == ("a", "b")
    assert [target for target, _ in policy.work(demand, ())] == ["a", "b"]
    assert [target for target, _ in policy.work(demand, ("c",))] == ["c"]
    assert policy.named(replace(demand, recordings=("stands for itself",))) == ()
    assert policy.named(Demand()) == ()
    assert policy.work(Demand(), ("c",)) == (("c", Demand()),)
    assert policy.work(under(), ()) == ()


def test_a_target_is_held_to_the_general_rules_and_to_its_own():
    general = Rules(
        require=("LN202",), families=("gpt2",), output_dtype="bfloat16", value_digests={"a": "1", "b": "1"}, pinned=True
    )
    own = Rules(
        require=("LN107",), strict=True, output_dtype="float32", value_digests={"b": "2"}, file_digests={"f": "3"},
        commits=("c",), norm="ln_f",
    )  # fmt: skip
    ((target, first), (_, second)) = policy.work(under(general, PolicyTarget("a", own), PolicyTarget("b")), ())
    assert (target, first.require, first.strict, first.output_dtype, first.norm) == (
        "a",
        ("LN202", "LN107"),
        True,
        "float32",
        "ln_f",
    )
    assert first.policy is not None
    assert first.policy.rules == replace(
        own, require=("LN202", "LN107"), families=("gpt2",), pinned=True, value_digests={"a": "1", "b": "2"}
    )
    assert second.policy is not None
    assert second.policy.rules == general
    assert policy.held(first) == first
    assert (second.require, second.strict, second.output_dtype, second.norm) == (("LN202",), False, "bfloat16", None)


def test_a_target_that_is_named_several_times_is_held_to_each():
    demand = under(Rules(), PolicyTarget("./a", Rules(norm="x")), PolicyTarget("a"), PolicyTarget("a", Rules(norm="y")))
    assert [(target, each.norm) for target, each in policy.work(demand, ())] == [("./a", "x"), ("a", None), ("a", "y")]


def test_a_target_of_the_call_is_held_to_what_the_policy_says_of_it(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    demand = under(Rules(), PolicyTarget("model", Rules(norm="x")), PolicyTarget("org/name", Rules(norm="y")))
    found = policy.work(demand, ("./model", "hf://org/name@main", "other"))
    assert [(target, each.norm) for target, each in found] == [
        ("./model", "x"),
        ("hf://org/name@main", "y"),
        ("other", None),
    ]
    with pytest.raises(UsageError, match="--norm: expected x, as p.toml says, found z"):
        policy.work(replace(demand, norm="z"), ("model",))


def test_its_locks_and_families_are_looked_at_before_anything_is_opened(tmp_path):
    demand = under(Rules(), PolicyTarget("a", Rules(lock=LOCK)), PolicyTarget("b", Rules(lock=LOCK)))
    (_, first), (_, second) = policy.work(demand, ())
    assert first.locked is not None
    assert first.locked is second.locked
    assert first.locked.where == LOCK
    with pytest.raises(UsageError, match="none: expected a lockfile that can be read"):
        policy.work(under(Rules(), PolicyTarget("a"), PolicyTarget("b", Rules(lock="none"))), ())
    with pytest.raises(UsageError, match="family 'gtp2': expected one of "):
        policy.work(under(Rules(), PolicyTarget("a", Rules(family="gtp2"))), ())


@pytest.mark.parametrize(
    ("rule", "named", "option"),
    [("LN301", "differs-from-source", "against"), ("lock-mismatch", "lock-mismatch", "lock")],
)
def test_a_rule_that_is_required_by_name_needs_what_it_holds_to(rule, named, option):
    asked = Demand(require=("all", rule))
    with pytest.raises(UsageError, match=f"a: {named} is required: expected {option}, found none"):
        policy.work(asked, ["a"])
    with pytest.raises(UsageError, match=f"a: {named} is required"):
        policy.work(Demand(policy=Policy("p.toml", "0" * 64, rules=Rules(require=(rule,)))), ["a"])
    assert policy.work(Demand(require=("all",)), ["a"]) == (("a", Demand(require=("all",))),)
    given = Demand(require=(rule,), against="base", lock="l")
    assert policy.work(given, ["a"]) == (("a", given),)
