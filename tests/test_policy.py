"""A policy only ever adds."""

import pytest

from ln_audit import checks, policy
from ln_audit.errors import UsageError
from ln_audit.report import Rule

RULE = Rule("LN107", "known-values")


def test_rules_are_required_by_id_name_or_all():
    assert policy.required(["LN107", "missing-norm"]) == {"LN107", "LN001"}
    assert policy.required(["all"]) == {check.RULE.id for check in checks.CHECKS}
    assert policy.required([]) == frozenset()


def test_an_unknown_rule_is_a_usage_error():
    with pytest.raises(UsageError, match="rule 'LN998': expected one of LN001 missing-norm, "):
        policy.required(["LN998"])


def test_a_required_skip_becomes_required_and_nothing_else_changes():
    skip, other = RULE.skipped("a", "why"), Rule("LN001", "missing-norm").skipped("b", "why")
    applied = policy.apply([skip, other, RULE.passed("c", "ok")], frozenset({"LN107"}), strict=False)
    assert [finding.required for finding in applied] == [True, False, False]
    assert applied[1:] == (other, RULE.passed("c", "ok"))


def test_strict_fails_warnings_and_says_so():
    (held,) = policy.apply([RULE.warned("a", "odd")], frozenset(), strict=True)
    assert (held.status, held.reason) == ("fail", "a warning, failed by --strict")
    assert policy.apply([RULE.warned("a", "odd")], frozenset(), strict=False) == (RULE.warned("a", "odd"),)


@pytest.mark.parametrize(
    ("file", "content"),
    [("ln-audit.toml", ""), ("pyproject.toml", "[tool.ln-audit]\n"), ("pyproject.toml", "[tool.ln-audit.gate]\n")],
)
def test_a_policy_file_that_would_be_ignored_is_refused(tmp_path, file, content):
    (tmp_path / file).write_text(content)
    with pytest.raises(UsageError, match="found one"):
        policy.refuse_policy_files(tmp_path)


def test_another_projects_pyproject_is_no_policy(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    policy.refuse_policy_files(tmp_path)
