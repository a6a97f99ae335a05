"""A policy only ever adds."""

import hashlib
from datetime import date, datetime

import pytest

from ln_audit import checks, policy
from ln_audit.demand import Waiver
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
        "[tool.ln-audit]\nstrict = true\n",
        "[tool.ln-audit.gate]\n",
        "[ tool . ln-audit ]\nstrict = true\n",
        '[tool."ln-audit"]\nstrict = true\n',
        "tool.ln-audit.strict = true\n",
        "tool = { ln-audit = { strict = true } }\n",
        '[tool."ln\\u002daudit"]\nstrict = true\n',
        "[tool.ln-audit\n",
    ],
)
def test_a_policy_that_would_be_ignored_is_refused_however_it_is_spelt(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(UsageError, match="pyproject.toml: "):
        policy.read(str(tmp_path))


def test_a_policy_file_is_refused_as_a_dangling_link_or_a_folder(tmp_path):
    (tmp_path / "ln-audit.toml").symlink_to("nowhere")
    with pytest.raises(UsageError, match="ln-audit.toml: expected a file, found none that can be read"):
        policy.read(str(tmp_path))
    (tmp_path / "ln-audit.toml").unlink()
    (tmp_path / "ln-audit.toml").mkdir()
    with pytest.raises(UsageError, match="ln-audit.toml: expected a file, found none that can be read"):
        policy.read(str(tmp_path))


@pytest.mark.parametrize("content", ["[tool.ruff]\n", "[project]\nname = 'ln-audit'\n", "# [tool.ln-audit]\n"])
def test_another_projects_pyproject_is_no_policy(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    assert policy.read(str(tmp_path)) is None
    assert policy.read(str(tmp_path / "nowhere")) is None


@pytest.mark.parametrize(("file", "table"), [("ln-audit.toml", ""), ("pyproject.toml", "tool.ln-audit.")])
def test_waivers_are_read_from_it_with_the_day_of_reading(tmp_path, file, table):
    row = 'rule = "zero-gain"\nnorm = "ln_f"\nreason = "pruned"\nuntil = 2027-01-31\n'
    (tmp_path / file).write_text(f"[[{table}waiver]]\n{row}")
    found = policy.read(str(tmp_path))
    assert found is not None
    assert found.waivers == (Waiver("LN102", "ln_f", "pruned", date(2027, 1, 31)),)
    assert found.read_on == datetime.now().astimezone().date()


ACME = """
[{}family.acme]
model_types = ["acme"]
[{}family.acme.sizes.d]
[[{}family.acme.norm]]
name = "norm"
role = "final"
kind = "rms_norm"
shape = ["d"]
"""


@pytest.mark.parametrize(("file", "under"), [("ln-audit.toml", ""), ("pyproject.toml", "tool.ln-audit.")])
def test_families_of_ones_own_are_read_from_it(tmp_path, file, under):
    text = ACME.format(under, under, under)
    (tmp_path / file).write_text(text)
    found = policy.read(str(tmp_path))
    assert found is not None
    assert (found.path, found.sha256) == (file, hashlib.sha256(text.encode()).hexdigest())
    assert [(name, family.name, family.model_types) for name, family in found.families.items()] == [
        ("acme", "acme", ("acme",))
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strict = true\n", r"ln-audit.toml: expected only \[family.NAME\] and \[\[waiver\]\], found 'strict'"),
        ("family = 3\n", "ln-audit.toml: family.: expected a table of that name, found 3"),
        ("[family.acme]\nname = 'other'\n", "ln-audit.toml: family.acme: expected a table of that name, found "),
        ("[family.acme]\n", r"ln-audit.toml: family.acme: norm: expected at least one \[\[norm\]\], found none"),
        ("waiver = 3\n", r"ln-audit.toml: waiver: expected \[\[waiver\]\] tables, found 3"),
        ("[[waiver]]\n", r"ln-audit.toml: waiver\[0\].rule: expected a value, found no such key"),
        ("strict = 0x" + "f" * 900, r"ln-audit.toml: expected only \[family.NAME\] and \[\[waiver\]\], found 'strict'"),
        ("family = 0x" + "f" * 900, "ln-audit.toml: family.: expected a table of that name, found "),
        (
            "a." * 30_000 + "a = 1",
            "ln-audit.toml: expected TOML that can be read for a policy, found: expected keys of",
        ),
        (
            f"a = {'[' * 9_000}",
            "ln-audit.toml: expected TOML that can be read for a policy, found: expected a few levels",
        ),
        ("[family\n", "ln-audit.toml: expected TOML that can be read for a policy, found: "),
    ],
)
def test_what_is_wrong_in_it_is_told_with_its_place(tmp_path, text, message):
    (tmp_path / "ln-audit.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        policy.read(str(tmp_path))
