"""Families and revisions that the policy does not allow fail; what cannot be told is never a failure and never a pass."""

from dataclasses import replace

import pytest

from ln_audit.checks import not_allowed
from ln_audit.checks.subject import Twin
from ln_audit.demand import Demand, Policy, Rules
from ln_audit.families.recognise import load
from ln_audit.result import SourceReport
from tests.checks.subject_builder import WHOLE, found, norm, subject

COMMIT, OTHER = "a" * 40, "b" * 40
ANY = Demand()


def under(rules: Rules, *, own=(), call=ANY, **changes):
    policy = Policy("p.toml", "0" * 64, {family.name: family for family in own}, rules=rules)
    return subject(WHOLE, norm(), demand=replace(call, policy=policy), **changes)


def test_where_the_policy_says_nothing_there_is_no_finding():
    assert found(not_allowed, subject(WHOLE, norm())) == []
    assert found(not_allowed, under(Rules())) == []


def test_a_family_is_among_those_that_are_allowed_or_not():
    assert found(not_allowed, under(Rules(families=("llama", "gpt2")))) == [("pass", "family", "gpt2 is allowed")]
    assert found(not_allowed, under(Rules(families=("llama", "opt")))) == [
        ("fail", "family", "model.safetensors: family: expected llama or opt as p.toml says, found gpt2")
    ]


def test_an_unknown_family_is_cannot_tell():
    (skip,) = not_allowed.check(under(Rules(families=("llama",)), family=None))
    assert (skip.status, skip.required, skip.reason) == ("skip", True, "it is not known, and p.toml allows only some")


def test_a_family_of_the_policy_is_allowed_and_another_table_of_its_name_is_not():
    acme = replace(load("gpt2"), name="acme")
    rules = Rules(families=("acme",))
    assert found(not_allowed, under(rules, own=[acme], family=acme)) == [("pass", "family", "acme is allowed")]
    other = replace(acme, norms=())
    assert found(not_allowed, under(rules, own=[acme], family=other)) == [
        (
            "fail",
            "family",
            "model.safetensors: family: expected acme as p.toml says, found another table of the name acme",
        )
    ]
    assert found(not_allowed, under(Rules(families=("gpt2",)), family=replace(load("gpt2"), norms=())))[0][0] == "fail"


@pytest.mark.parametrize(
    ("asked", "revision", "status", "told"),
    [
        (COMMIT, COMMIT, "pass", f"named by its commit {COMMIT}"),
        ("main", COMMIT, "fail", "org/name: revision: expected a commit as p.toml says, found main"),
        (None, COMMIT, "fail", "org/name: revision: expected a commit as p.toml says, found none"),
        (COMMIT, OTHER, "fail", f"org/name: revision: expected a commit as p.toml says, found {COMMIT}"),
        (
            COMMIT.upper(),
            COMMIT,
            "fail",
            f"org/name: revision: expected a commit as p.toml says, found {COMMIT.upper()}",
        ),
        (COMMIT[:7], COMMIT, "fail", f"org/name: revision: expected a commit as p.toml says, found {COMMIT[:7]}"),
        (None, None, "fail", "org/name: revision: expected a commit as p.toml says, found none"),
    ],
)
def test_a_model_on_the_hub_is_named_by_its_commit(asked, revision, status, told):
    of = under(Rules(pinned=True), kind="hub", asked=asked, revision=revision, identity="org/name")
    assert found(not_allowed, of) == [(status, "revision", told)]
    (finding,) = not_allowed.check(of)
    way = f": write org/name@{revision}, what it is now" if revision else ""
    assert finding.reason == ("" if status == "pass" else f"a branch or a tag can be moved{way}")


def test_what_is_on_this_machine_has_no_revision_and_a_web_address_cannot_be_told():
    assert found(not_allowed, under(Rules(pinned=True), kind="local")) == []
    assert found(not_allowed, under(Rules(pinned=True), kind="sample")) == []
    (skip,) = not_allowed.check(under(Rules(pinned=True), kind="http"))
    assert (skip.status, skip.subject, skip.required) == ("skip", "revision", True)
    assert found(not_allowed, under(Rules(pinned=True, file_digests={"f": "0"}), kind="http")) == []
    assert found(not_allowed, under(Rules(pinned=True), kind="http", call=Demand(lock="l"))) == []


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (f"org/base@{COMMIT}", [("pass", f"named by its commit {COMMIT}")]),
        ("org/base@main", [("fail", "--against org/base@main: expected a commit as p.toml says, found main")]),
        ("hf://org/base", [("fail", "--against hf://org/base: expected a commit as p.toml says, found none")]),
        ("https://host/base.gguf", [("skip", "https://host/base.gguf: a web address has no commit")]),
        ("hf://datasets/x", [("skip", "hf://datasets/x: expected a model as org/name on the Hub, found 'datasets/x'")]),
        ("sample", []),
        ("./base", []),
    ],
)
def test_the_source_that_it_is_held_to_is_named_by_its_commit_too(label, expected):
    of = under(Rules(pinned=True), call=Demand(against=label))
    assert found(not_allowed, of) == [(status, "revision of --against", told) for status, told in expected]
    assert all(finding.required for finding in not_allowed.check(of) if finding.status == "skip")


def test_and_is_told_the_commit_that_it_was():
    told = SourceReport("org/base@main", "hub", "org/base", COMMIT, (), 1, 1)
    twin = Twin("org/base@main", "org/base", report=told)
    (finding,) = not_allowed.check(under(Rules(pinned=True), call=Demand(against="org/base@main"), twin=twin))
    assert finding.reason == f"a branch or a tag can be moved: write org/base@{COMMIT}, what it is now"


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"kind": "hub", "revision": COMMIT}, "pass", f"{COMMIT} is allowed"),
        ({"kind": "hub", "revision": OTHER}, "fail", f"/model: expected commit {COMMIT} as p.toml says, found {OTHER}"),
        ({"kind": "hub", "revision": None}, "skip", "the server does not tell which commit it gave"),
        (
            {"kind": "local"},
            "fail",
            f"/model: expected commit {COMMIT} as p.toml says, found what has no commit (local)",
        ),
    ],
)
def test_a_commit_is_among_those_that_are_allowed_or_not(changes, status, told):
    assert found(not_allowed, under(Rules(commits=(COMMIT,)), **changes)) == [(status, "commit", told)]


def test_a_long_list_is_told_in_part():
    many = tuple(f"{at:040x}" for at in range(30))
    ((_, _, told),) = found(not_allowed, under(Rules(commits=many), kind="hub", revision=OTHER))
    assert f" or {many[7]} or 22 more as p.toml says" in told
