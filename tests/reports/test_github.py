"""Annotations that the runner reads back as they were meant, at most as many as GitHub shows."""

from dataclasses import replace

from ln_audit.reports import github
from ln_audit.reports.document import Run
from tests.reports.made import BROKEN, CLEAN, RULE, RUNS, UNLIKE
from tests.reports.readers import github as read


def test_each_kind_of_finding_is_an_annotation():
    assert read(github.render(RUNS["several"])) == [
        ("error", {"title": "LN201 off-reference: not decided", "file": "models/c/b.gguf"},
         "models/c: ln_f: no recorded hidden states: give --recording FILE"),
        ("error", {"title": "LN001 missing-norm (12×)", "file": "models/b.gguf"},
         "models/b.gguf: b.gguf: h.{0…11}.ln_1.weight: expected a gain, found no such tensor; save it again"),
        ("error", {"title": "LN001 missing-norm (12×)", "file": "models/b.gguf"},
         "models/b.gguf: b.gguf: h.{0…11}.ln_2.weight: expected a gain, found no such tensor; save it again"),
        ("error", {"title": "LN101 not-finite", "file": "models/b.gguf"},
         "models/b.gguf: b.gguf: ln_f.weight: expected finite values, found 1 NaN, first at [3]"),
        ("error", {"title": "incomplete", "file": "x"}, "x: expected a, found b → do this"),
        ("warning", {"title": "LN101 not-finite", "file": "models/clean/model.safetensors"},
         "models/clean: odd; waived until 2099-01-01: known"),
        ("warning", {"title": "LN101 not-finite"}, "gpt2: odd; look"),
        ("notice", {"title": "ln-audit"}, "PASS: models/clean"),
        ("notice", {"title": "ln-audit"}, "PASS, 1 warning: models/clean"),
        ("notice", {"title": "ln-audit"}, "PASS, 1 warning: gpt2"),
    ]  # fmt: skip


def test_whatever_is_not_a_pass_is_an_error():
    for name, run in RUNS.items():
        levels = {level for level, _, _ in read(github.render(run))}
        assert ("error" in levels) == (run.exit_code != 0), name


def test_percent_colon_and_comma_are_read_back():
    odd = replace(
        UNLIKE,
        findings=(RULE.failed("x", "100% of a:b,c %0A"),),
        source=replace(UNLIKE.source, spec="a,b:c%/m", files=()),
    )
    ((_, properties, message),) = read(github.render(Run((odd,), 1)))
    assert (properties["file"], message) == ("a,b:c%/m", "a,b:c%/m: 100% of a:b,c %0A")


def test_more_than_github_shows_are_counted():
    many = Run(
        (replace(UNLIKE, findings=tuple(RULE.failed(c, f"{c}: odd") for c in "abcdefghijklmn")), *[CLEAN] * 11), 1
    )
    made = read(github.render(many))
    assert [sum(level == kind for level, _, _ in made) for kind in ("error", "warning", "notice")] == [10, 0, 10]
    assert made[9] == ("error", {"title": "ln-audit"}, "and 5 more: see the step's summary")


def test_an_audit_in_which_nothing_passed_is_an_error():
    assert read(github.render(Run((replace(BROKEN, error=None),), 3))) == [
        ("error", {"title": "incomplete", "file": "x"}, "x: nothing was checked")
    ]
