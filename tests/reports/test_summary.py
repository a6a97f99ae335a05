"""What a report came to, in a few words and in a row."""

from dataclasses import replace

from ln_audit.core import FileUse
from ln_audit.reports import summary
from ln_audit.reports.document import Run
from ln_audit.result import AgainstReport, CheckpointReport
from tests.reports.made import BROKEN, CLEAN, REPORT, RULE, RUNS, UNDECIDED, UNLIKE, WAIVED


def test_the_rows_of_several_targets_the_worst_first():
    assert [tuple(row) for row in summary.rows(RUNS["several"])] == [
        ("FAIL", "models/b.gguf", "gpt2", "1",
         "LN001 missing-norm (12×): b.gguf: h.{0…11}.ln_1.weight: expected a gain, found no such tensor (and 13 more)"),
        ("INCOMPLETE", "models/c", "gpt2", "1", "LN201 off-reference: no recorded hidden states: give --recording FILE"),
        ("INCOMPLETE", "x", "–", "–", "x: expected a, found b"),
        ("PASS", "models/clean", "gpt2", "1", ""),
        ("PASS, 1 warning", "models/clean", "gpt2", "1", "LN101 not-finite: odd"),
        ("PASS, 1 warning", "gpt2", "gpt2", "1", "LN101 not-finite: odd"),
    ]  # fmt: skip


def test_the_first_thing_of_a_report():
    assert [summary.first(each) for each in (CLEAN, WAIVED, BROKEN)] == [
        "",
        "LN101 not-finite: odd",
        "x: expected a, found b",
    ]
    assert summary.first(replace(BROKEN, error=None)) == "nothing was checked"
    assert summary.first(replace(UNLIKE, error=BROKEN.error)).startswith("LN001")  # a failure weighs more than an end


def test_counts():
    assert [summary.counts(Run(reports, 0)) for reports in ((), (CLEAN,), (UNLIKE, UNDECIDED, UNLIKE))] == [
        "0 targets: nothing was checked",
        "1 target: 1 pass",
        "3 targets: 2 fail, 1 incomplete",
    ]


def test_each_artifact_of_a_folder_is_named():
    files = (FileUse("config.json", 10, 10), FileUse("q4/m.gguf", 1_000, 10))
    folder = replace(
        CLEAN, source=replace(CLEAN.source, spec="quants", files=files), checkpoint=CheckpointReport("gguf", 1, {})
    )
    assert (summary.name(folder), summary.title(folder)) == ("quants: q4/m.gguf", "quants: q4/m.gguf")
    alone = replace(folder, source=replace(folder.source, spec="quants/q4/m.gguf"))
    assert (summary.name(alone), summary.largest(alone)) == ("quants/q4/m.gguf", "q4/m.gguf")


def test_what_passed_is_told_by_rule():
    findings = [RULE.passed(f"h.{i}", f"said {i}") for i in range(3)]
    assert [(first.subject, times, said) for first, times, said in summary.passed(findings)] == [
        ("h.0", 3, "said 0; said 1; …")
    ]


def test_facts_begin_with_the_family_and_end_with_what_was_read():
    told = [*summary.told_facts(REPORT)]
    assert (told[0], told[-1]) == (
        ("family", 'gpt2 (model_type "gpt2" in config.json)'),
        ("read", "22.5 kB of 548.1 MB in 6 requests"),
    )
    assert [*summary.told_facts(BROKEN)] == []


def test_a_source_whose_family_is_not_known_is_said():
    held = AgainstReport(replace(CLEAN.source, spec="base"), None, 3)
    for family, said in ((None, "family not known, 3 norms paired"), ("gpt2", "gpt2, 3 norms paired")):
        facts = dict(summary.told_facts(replace(CLEAN, against=replace(held, family=family))))
        assert facts["against"] == f"base ({said})"


def test_what_leads_and_what_is_undecided_is_in_no_other_list():
    leading = RULE.failed("family of m", "m: odd", explains="all")
    skip = RULE.skipped("ln_f", "why", required=True)
    failed = replace(CLEAN, findings=(*CLEAN.findings, RULE.failed("x", "x: odd"), leading, skip))
    assert (summary.leading(failed), summary.undecided(failed), summary.nothing(failed)) == ([leading], [], "")
    assert [each.subject for each in summary.of_status(failed, "fail")] == ["x"]
    assert summary.of_status(failed, "skip") == [skip]
    assert summary.first(failed) == "LN001 missing-norm: m: odd (and 1 more)"
    blind = replace(CLEAN, findings=(*CLEAN.findings, skip))
    assert (summary.undecided(blind), summary.of_status(blind, "skip")) == ([skip], [])
    assert summary.nothing(replace(CLEAN, findings=())) == summary.NOTHING
