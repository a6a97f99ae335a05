"""A comment or a model card: the verdict, the accounting, the digests, what was not checked, and the command for the same again."""

from dataclasses import replace

import pytest

from ln_audit.reports import markdown
from ln_audit.reports.document import Run
from ln_audit.result import NormReport
from tests.reports.made import GAIN, NORM, REPORT, RUNS, UNLIKE
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


def test_a_required_skip_says_that_the_verdict_depends_on_it():
    assert (
        "- **LN201 off-reference**, **the verdict depends on it** `ln_f: no recorded hidden states"
        in markdown.render(RUNS["incomplete"])
    )


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
