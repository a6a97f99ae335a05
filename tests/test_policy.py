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
    "content",
    [
        "[tool.ln-audit]\n",
        "[tool.ln-audit.gate]\n",
        "[ tool . ln-audit ]\n",
        '[tool."ln-audit"]\n',
        "tool.ln-audit.strict = true\n",
        "tool = { ln-audit = { strict = true } }\n",
        '[tool."ln\\u002daudit"]\n',
        "[tool.ln-audit\n",
    ],
)
def test_a_policy_that_would_be_ignored_is_refused_however_it_is_spelt(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(UsageError, match="pyproject.toml: expected "):
        policy.refuse_policy_files(str(tmp_path))


def test_a_policy_file_is_refused_even_as_a_dangling_link(tmp_path):
    (tmp_path / "ln-audit.toml").symlink_to("nowhere")
    with pytest.raises(UsageError, match="found one"):
        policy.refuse_policy_files(str(tmp_path))


@pytest.mark.parametrize("content", ["[tool.ruff]\n", "[project]\nname = 'ln-audit'\n", "# [tool.ln-audit]\n"])
def test_another_projects_pyproject_is_no_policy(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    policy.refuse_policy_files(str(tmp_path))
