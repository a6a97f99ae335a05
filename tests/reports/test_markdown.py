"""A comment or a model card: the verdict, the accounting, the digests, what was not checked, and the command for the same again."""

from dataclasses import replace

import pytest

from ln_audit.reports import markdown
from ln_audit.reports.document import Run
from ln_audit.result import NormReport
from tests.reports.made import CLEAN, FAILED, GAIN, NORM, REPORT, RULE, RUNS, UNLIKE
from tests.reports.readers import markdown as read


def cells(said):
    rows: list[list[str]] = []
    inside = False
    for token in read(said):
        inside = token.type.endswith("_open") if token.type[:3] in ("th_", "td_") else inside
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and inside:
            rows[-1].append(token.content)
    return rows


@pytest.mark.parametrize("name", RUNS)
def test_the_verdict_comes_first(name):
    said = markdown.render(RUNS[name])
    assert said.startswith(f"## {RUNS[name].verdict.upper()}")
    read(said)


def test_a_model_card_has_accounting_digests_and_command():
    said = markdown.render(RUNS["passing"])
    rows = cells(said)
    assert ["all norms", "8"] in rows
    assert ["checkpoint", "124"] in rows
    assert ["`ln_f`", "gain", f"`{'b' * 64}`"] in rows
    assert "```sh\nln-audit verify gpt2@607a30d783dfa663 --recording run.safetensors\n```\n" in said


def test_what_could_not_be_told_stands_right_below_the_verdict():
    lines = [line for line in markdown.render(RUNS["incomplete"]).splitlines() if line]
    assert lines[:3] == [
        "## INCOMPLETE: `models/c`",
        "### Cannot tell",
        "- **LN201 off-reference** `ln_f: no recorded hidden states: give --recording FILE`",
    ]
    assert "\n".join(lines).count("LN201") == 2  # and once in the command to reproduce it


def test_a_required_skip_of_a_failure_says_that_the_verdict_depends_on_it():
    skip = RULE.skipped("ln_f", "no recorded hidden states", required=True)
    failed = replace(FAILED, findings=(*FAILED.findings, skip))
    assert "- **LN001 missing-norm**, **the verdict depends on it** `ln_f: no" in markdown.render(Run((failed,), 1))


def test_nothing_checked_is_said_right_below_the_verdict():
    said = markdown.render(Run((replace(CLEAN, findings=()),), 3)).splitlines()
    assert said[2] == "nothing was checked"


def test_what_explains_the_rest_is_the_first_failure():
    leading = RULE.failed("family of m", "m: expected a llama, found a gpt2", "other norms", explains="all")
    lines = markdown.render(Run((replace(FAILED, findings=(*FAILED.findings, leading)),), 1)).splitlines()
    assert lines[lines.index("### Failed") + 2 :][:2] == [
        "- **LN001 missing-norm** `m: expected a llama, found a gpt2`",
        "  - `other norms`",
    ]


def test_a_family_to_be_described_is_code_to_be_copied():
    finding = replace(REPORT.findings[2], evidence={"table": '[family.x]\nmodel_types = ["x"]'})
    tokens = read(markdown.render(Run((replace(REPORT, findings=(finding,)),), 3)))
    assert [token.content for token in tokens if token.type == "code_block"] == ['[family.x]\nmodel_types = ["x"]\n']


def test_a_report_that_does_not_fit_at_all_still_says_its_verdict():
    long = tuple(
        replace(REPORT.findings[0], status=status, message=f"{letter}{'x' * 1_900}", reason="y" * 1_900)
        for status in ("fail", "warn")
        for letter in "abcdefghijklmnop"
    )
    said = markdown.render(Run((replace(REPORT, findings=long),), 1))
    assert said.startswith("## FAIL: 1 target: 1 fail\n\n| verdict |")
    assert len(said) < 60_000
    assert "1 report: `--format json`" in said


def test_it_fits_a_comment_however_many_norms_and_targets():
    norms = tuple(NormReport(replace(NORM, name=f"h.{i}.ln_1", role="block"), (GAIN,), 4) for i in range(500))
    large = replace(REPORT, norms=norms)
    said = markdown.render(Run((large,), 0))
    assert "436 digests more: `--format json`" in said
    read(said)
    for count in (2, 60, 400, 3_000):
        read(markdown.render(Run((replace(UNLIKE, norms=norms),) * count, 1)))
