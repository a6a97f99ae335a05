"""The HTML report: valid, inert, accessible, small, the same each time, and in numbers what the report says."""

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from ln_audit import cli, reports
from ln_audit.audit import audit
from ln_audit.demand import Demand, Policy
from ln_audit.reports import html
from ln_audit.reports.document import Run, exit_code
from ln_audit.result import Failure, Report, Rule
from tests.reports import gpt2_sized
from tests.reports.made import BROKEN, CLEAN, FAILED, REPORT, RULE, UNDECIDED
from tests.reports.page_reader import alternatives, attributes, elements, faults, parsed, text
from tests.shared import FIXTURES

BAD = FIXTURES / "bad" / "LN201-off-reference"


@cache
def sample() -> Report:
    return audit("sample", Demand(pictures=True))[0]


@cache
def bad() -> Report:
    return audit(str(BAD), Demand(pictures=True, recordings=(str(BAD / "run.safetensors"),)))[0]


@cache
def gpt2() -> Report:
    return gpt2_sized.report()


def rendered(*found: Report) -> str:
    return html.render(Run(tuple(found), exit_code(found)))


CASES: dict[str, tuple[Callable[[], Report], ...]] = {
    "pass": (sample,), "fail": (bad,), "gpt2": (gpt2,), "made": (lambda: REPORT,), "broken": (lambda: BROKEN,),
    "many findings": (lambda: FAILED,), "several": (sample, lambda: BROKEN, bad), "none": (), "undecided": (lambda: UNDECIDED,),
}  # fmt: skip


@cache
def case_page(case: str) -> str:
    return rendered(*(make() for make in CASES[case]))


@pytest.mark.parametrize("case", CASES)
def test_every_page_is_valid_inert_and_accessible(case):
    assert faults(case_page(case)) == []


@pytest.mark.parametrize("case", ["pass", "fail"])
def test_the_same_report_makes_the_same_page(case):
    assert rendered(*(make() for make in CASES[case])) == case_page(case)


def test_gpt2_small_with_a_recording_stays_under_a_megabyte():
    page = case_page("gpt2")
    assert len(page.encode()) < 1_000_000
    assert len(elements(parsed(page), "svg")) == 25 * 2 + 4 + 3


def test_a_model_of_thousands_of_norms_stays_small_too():
    huge = replace(gpt2(), norms=gpt2().norms * 80, comparisons=())
    page = rendered(*[huge] * 20)
    assert len(page.encode()) < 7_000_000
    assert page.count("Drawn: 4 of 2,000 norms; of the others") == 20
    assert page.count("And 1,600 more, see --format json.") == 20


def test_the_verdict_comes_first_then_what_was_checked_then_what_was_not():
    page = parsed(case_page("fail"))
    titles = [text(each) for each in page.iter() if str(each.tag) in ("h1", "h2", "h3")]
    assert titles[0] == "Norm audit"
    assert titles[1].startswith("FAIL ")
    assert titles[2:] == [
        "Failed", "Checked", "Not checked", "Recording of transformer.ln_f", "Through the depth", "Norm by norm",
        "All norms in numbers",
    ]  # fmt: skip
    assert text(elements(page, "title")[0]) == f"FAIL: {bad().source.spec} – ln-audit"


def titles_of(*reports: Report) -> list[str]:
    return [text(each) for each in parsed(rendered(*reports)).iter() if str(each.tag) in ("h1", "h2", "h3")]


def test_what_could_not_be_told_and_what_explains_the_rest_stand_right_below_the_verdict():
    skip = RULE.skipped("ln_f", "no recording", required=True)
    undecided = replace(CLEAN, findings=(*CLEAN.findings, skip), comparisons=())
    assert titles_of(undecided)[1:5] == ["INCOMPLETE models/clean", "Cannot tell", "Checked", "All norms in numbers"]
    leading = RULE.failed("family of m", "m: expected a llama, found a gpt2", "two families", explains="all")
    assert titles_of(replace(FAILED, findings=(*FAILED.findings, leading)))[1:4] == [
        "FAIL gpt2 (openai-community/gpt2) at 607a30d783df", "Above all", "Failed",
    ]  # fmt: skip
    page = rendered(replace(CLEAN, findings=(), comparisons=()))
    assert page.index("nothing was checked") < page.index('<dl class="facts">')


def test_the_title_and_the_first_banner_name_the_verdict_and_the_target():
    page = rendered(CLEAN, FAILED, BROKEN)
    assert text(elements(parsed(page), "title")[0]) == "FAIL: gpt2 and 2 more – ln-audit"
    assert "FAIL 3 targets: 1 pass, 1 fail, 1 incomplete" in " ".join(text(parsed(page)).split())
    assert html.heading(Run((), 2, Failure("usage", "no", ""))) == "ERROR"
    assert html.heading(Run((), 3)) == "INCOMPLETE"


def test_text_alternatives_state_the_reports_numbers():
    (comparison,) = sample().comparisons
    first, second, third, *others = alternatives(parsed(case_page("pass")))
    assert first == (
        "Error as a share of the tolerance over 64 positions and 48 channels: the largest is"
        f" {comparison.max_error_ratio:.4g}, at [0, 5], channel 0; 0 of 3,072 elements are beyond the tolerance."
    )
    assert second.startswith("Of 3,072 judged elements 3,072 use up to a quarter of their tolerance")
    assert third.startswith(f"{len(comparison.can_tell)} faults: would have been seen")
    gain = next(n for n in sample().norms if n.norm.role == "final").tensors[0]
    assert (
        f"gain {gain.name} over 48 channels: mean {gain.mean:.4g}, standard deviation {gain.std:.4g}, minimum {gain.min:.4g}"
        f" (channel {gain.argmin}), maximum {gain.max:.4g} (channel {gain.argmax}). No outliers."
    ) in others


def test_what_failed_is_told_with_the_way_out_and_its_norm_is_open():
    page = parsed(case_page("fail"))
    told = next(each for each in elements(page, "ul") if each.get("class") == "findings fail")
    assert "LN201 off-reference" in text(told)
    assert "hand the config's epsilon 1e-05 on to the module" in text(told)
    opened = [text(elements(each, "h4")[0]) for each in elements(page, "details") if "open" in each.attrib]
    assert opened == ["transformer.ln_f"]


def test_an_input_that_could_not_be_audited_is_no_empty_page():
    page = text(parsed(case_page("broken")))
    assert "INCOMPLETE" in page
    assert "x: expected a, found b" in page
    assert "→ do this" in page


def test_a_call_that_was_rejected_is_an_error():
    page = html.render(Run((), 2, Failure("usage", "no <b>", "see help")))
    assert faults(page) == []
    assert "ERROR no <b> → see help" in text(parsed(page))


def test_several_targets_come_as_one_table_with_the_worst_first():
    page = parsed(case_page("several"))
    rows = [text(each) for each in elements(elements(page, "table")[0], "tr")][1:]
    assert [row.split()[:2] for row in rows] == [["✗", "FAIL"], ["?", "INCOMPLETE"], ["✓", "PASS"]]
    links = [dict(attributes(each))["href"] for each in elements(elements(page, "table")[0], "a")]
    assert links == ["#r3", "#r2", "#r1"]


def test_many_findings_are_counted_and_the_policy_is_told():
    many = replace(FAILED, findings=FAILED.findings * 20)
    policy = Policy("ln-audit.toml", "c" * 64)
    page = text(parsed(html.render(Run((many,), 1, policy=policy))))
    assert "LN001 missing-norm: and 140 more, see --format json" in page
    assert f"Policy: ln-audit.toml, SHA-256 {'c' * 64}" in page


def test_a_report_without_pictures_has_fewer_of_them_and_is_as_true():
    plain = audit("sample", Demand())[0]
    page = rendered(plain)
    assert faults(page) == []
    assert len(alternatives(parsed(page))) == 5  # four profiles, the resolving power
    assert "Norm by norm" not in page


def test_names_from_a_checkpoint_are_inert_wherever_they_stand():
    evil = (
        '<script>alert(1)</script><img src=x onerror=alert(1)>"\' onload="x\x1b[31m\u202e$\\frac{1}{2}$[l](javascript:a)\n'
        + "n" * 300
    )
    rule = Rule("LN001", "missing-norm")
    base = gpt2()
    norms = tuple(
        replace(
            each,
            norm=replace(each.norm, name=evil, pattern=evil, kind=evil, eps_source=evil),
            tensors=tuple(replace(tensor, name=evil, dtype=evil) for tensor in each.tensors),
        )
        for each in base.norms[:3] + base.norms[-1:]
    )
    comparison = replace(
        base.comparisons[0], norm=evil, recording=evil, provenance=evil, message=evil, notes=(evil,), degenerate=(evil,),
        can_tell=tuple({**each, "name": evil, "hypothesis": "kind"} for each in base.comparisons[0].can_tell),
    )  # fmt: skip
    hostile = replace(
        base,
        source=replace(base.source, spec=evil, identity=evil, revision=evil),
        norms=norms,
        comparisons=(comparison,),
        findings=(rule.failed(evil, evil, evil), rule.warned(evil, evil, evil), rule.skipped(evil, evil, table=evil)),
        not_checked=(evil,),
    )
    page = rendered(hostile, BROKEN)
    assert faults(page) == []
    assert not [char for char in page if not char.isprintable() and char != "\n"]
    assert "\\x1b[31m\\u202e$\\frac{1}{2}$" in text(parsed(page))
    inside = [tag for each in elements(parsed(page), "svg") for tag in [text(each)] if "script" in tag or "frac" in tag]
    assert inside == []  # no name is drawn: they stand in captions and alternatives


def test_of_many_recorded_norms_all_are_told_and_those_that_did_not_pass_are_drawn_first():
    (passed,), (failed,) = sample().comparisons, bad().comparisons
    page = rendered(replace(sample(), comparisons=(passed,) * 250 + (failed,) * 2))
    assert faults(page) == []
    titles = [text(each) for each in elements(parsed(page), "h3")]
    assert titles.count("Recording of transformer.ln_f") == 200
    assert "And 52 recorded norms more, see --format json." in page
    names = alternatives(parsed(page))
    assert sum(name.startswith("Error as a share") for name in names) == 8
    assert [f"the largest is {failed.max_error_ratio:.4g}," in name for name in names[:4]] == [True, False] * 2


def test_an_error_ratio_in_words():
    assert [html.share(each) for each in (0.2121, 1.0, 2.953, 16_792.7, 3.2e12)] == [
        "0.21 of the tolerance", "1 of the tolerance", "2.95 times the tolerance", "16,800 times the tolerance",
        "3.2e+12 times the tolerance",
    ]  # fmt: skip


def test_without_its_libraries_the_call_is_refused_before_any_work(monkeypatch, capsys):
    there = importlib.util.find_spec
    monkeypatch.setattr(reports, "find_spec", lambda name: None if name == "matplotlib" else there(name))
    monkeypatch.setattr("ln_audit.audit.audit", None)
    for arguments in (["verify", "sample", "--output", "x.html"], ["report", "sample", "--format", "html"]):
        assert cli.main(arguments) == 2
        assert capsys.readouterr().err == (
            "ln-audit: --format html: expected the matplotlib package, found it not installed\n"
            '  → pip install "ln-audit[html]"\n'
        )


def test_the_command_line_writes_it_beside_the_text(tmp_path, capsys):
    page = tmp_path / "sample.html"
    assert cli.main(["verify", "sample", "--output", f"html={page}"]) == 0
    assert capsys.readouterr().out.startswith("PASS  sample")
    assert faults(page.read_text(encoding="utf-8")) == []
    assert len(alternatives(parsed(page.read_text(encoding="utf-8")))) == 3 + 4 + 14
    assert cli.main(["report", "sample", "--format", "html"]) == 0
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")


def test_nobody_who_asks_for_text_pays_for_pictures():
    import subprocess
    import sys

    code = (
        "import sys; from ln_audit import cli; cli.main(['verify', 'sample', '--quiet']);"
        "print(sorted({'matplotlib', 'jinja2', 'markupsafe', 'ln_audit.pictures', 'ln_audit.numerics.shares',"
        "'ln_audit.numerics.channels', 'ln_audit.reports.html'} & set(sys.modules)))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert made.stdout.splitlines()[-1] == "[]"


def test_colours_are_never_fixed_in_a_drawing_so_that_dark_mode_can_turn_them():
    page = case_page("fail") + case_page("pass")
    drawn = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawn)) <= {
        "none", "currentColor", *(f"var(--{name})" for name in ("faint", "blue", "orange", "vermilion", "green", "grey")),
    }  # fmt: skip
