"""First the verdict, then what was checked, then what was not."""

from dataclasses import replace

from ln_audit.reports import text
from ln_audit.reports.document import Run
from ln_audit.result import Failure, Rule
from tests.reports.made import BROKEN, CLEAN, FAILED, REPORT, RULE

WHOLE = """\
PASS, 1 warning  gpt2 (openai-community/gpt2) at 607a30d783df
  family       gpt2 (model_type "gpt2" in config.json)
  final norm   ln_f: layer_norm, 4 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)
               gain 4 + bias 4 = 8 parameters, counted from checkpoint tensors
  all norms    1 norm, 8 of 124 parameters
  recording    run.safetensors (recording given by the caller)
               2 positions, 8 elements; largest error 1e-07, 25 % of what rounding explains
  read         22.5 kB of 548.1 MB in 6 requests
  warnings
    ! LN101 not-finite: odd
      look
  checked
    ✓ LN001 missing-norm: gain and bias found
  not checked
    – LN101 not-finite: 1 norms: not read
    – other files: not listed
"""


def test_a_report_reads_at_a_glance():
    assert text.render(Run((REPORT,), 0)) == WHOLE


def test_an_error_comes_with_the_way_out():
    assert text.render(Run((BROKEN,), 3)) == "INCOMPLETE  x\n  x: expected a, found b\n  → do this\n"


TABLE = """\
verdict     target                     family  norms  first failure, or why nobody can tell
FAIL        gpt2                       –           –  LN001 missing-norm (10×): h.{0…9}: expected a, found b
INCOMPLETE  x                          –           –  x: expected a, found b
PASS        models/clean               gpt2        1

what was checked where all is well, and what was not: --verbose
3 targets: 1 pass, 1 fail, 1 incomplete
"""


def test_several_targets_end_in_a_table_with_the_worst_first():
    said = text.render(Run((CLEAN, BROKEN, FAILED), 1))
    assert said.endswith(
        "\n\n"
        + TABLE.replace(" " * 13 + "–", "–")
        .replace(" " * 13 + "family", "family")
        .replace("clean             ", "clean")
    )
    assert [line.partition(" ")[0] for line in said.split("\n\n")] == ["INCOMPLETE", "FAIL", "verdict", "what"]


def test_on_a_terminal_that_is_too_narrow_each_failure_has_its_own_line():
    long = replace(BROKEN, source=replace(BROKEN.source, spec="models/" + "x" * 60 + "/tail"))
    more = replace(FAILED, findings=(RULE.failed("a", "b" * 100),))
    said = text.write(Run((long, more), 1), quiet=False, verbose=False, width=80)
    assert (
        said.partition("verdict")[2]
        == f"""\
     target                            family  norms
    first failure, or why nobody can tell
FAIL        gpt2                              –           –
    LN001 missing-norm: {"b" * 55}…
INCOMPLETE  …{"x" * 26}/tail  –           –
    x: expected a, found b

2 targets: 1 fail, 1 incomplete
"""
    )


def test_several_targets_with_verbose_or_quiet():
    run = Run((CLEAN, BROKEN), 3)
    assert "\nPASS  models/clean" in "\n" + text.write(run, quiet=False, verbose=True)
    assert text.write(run, quiet=True, verbose=False) == (
        "PASS  models/clean\n\nINCOMPLETE  x\n  x: expected a, found b\n  → do this\n\n2 targets: 1 pass, 1 incomplete\n"
    )


def test_failures_that_say_the_same_are_one_line_unless_each_is_asked_for():
    short, whole = text.render(Run((FAILED,), 1)), text.write(Run((FAILED,), 1), quiet=False, verbose=True)
    assert "    ✗ LN001 missing-norm (10×): h.{0…9}: expected a, found b\n      mend it\n" in short
    assert (short.count("expected a"), whole.count("expected a")) == (1, 10)


def test_many_failures_that_each_say_something_else_are_counted_unless_asked_for():
    other = replace(FAILED, findings=tuple(RULE.failed(c, f"{c}: odd") for c in "abcdefghij"))
    short, whole = text.render(Run((other,), 1)), text.write(Run((other,), 1), quiet=False, verbose=True)
    assert "    ✗ LN001 missing-norm: and 2 more, see --verbose\n" in short
    assert (short.count(": odd"), whole.count(": odd")) == (8, 10)


def test_skips_and_notes_are_counted_unless_asked_for():
    skips = tuple(RULE.skipped(f"h.{i}", f"not {word}") for i, word in enumerate("abcde"))
    report = replace(REPORT, findings=skips, not_checked=tuple(f"file {i}" for i in range(40)))
    short, whole = text.render(Run((report,), 3)), text.write(Run((report,), 3), quiet=False, verbose=True)
    assert "    – LN001 missing-norm: and 2 more, see --verbose\n" in short
    assert "    – and 8 more, see --verbose\n" in short
    assert "more" not in whole


def test_what_the_verdict_depends_on_stands_first_under_not_checked():
    rules = Rule("LN201", "off-reference"), Rule("LN301", "differs-from-source")
    skips = (rules[0].skipped("ln_f", "no recording"), rules[1].skipped("base", "not compared", required=True))
    failed = RULE.failed("x", "x: odd")
    lines = text.render(Run((replace(REPORT, findings=(*skips, failed)),), 1)).splitlines()
    at = lines.index("  not checked")
    assert [line.split()[1] for line in lines[at + 1 : at + 3]] == ["LN301", "LN201"]


def test_quiet_is_the_verdict_and_what_failed():
    assert text.write(Run((REPORT,), 0), quiet=True, verbose=False) == WHOLE.splitlines(keepends=True)[0]
    assert text.write(Run((FAILED,), 1), quiet=True, verbose=False).startswith("FAIL  gpt2")


def test_verbose_gives_every_finding_a_line_with_its_subject():
    assert "    ✓ LN001 missing-norm: ln_f: gain and bias found\n" in text.write(
        Run((REPORT,), 0), quiet=False, verbose=True
    )


def test_a_call_that_was_rejected_is_an_error():
    assert text.render(Run((), 2, Failure("usage", "no", "see help"))) == "ERROR  no\n  → see help\n"


def test_text_from_a_checkpoint_cannot_drive_the_terminal():
    evil = replace(REPORT, findings=(RULE.failed("x", "\x1b]0;owned\x07 \r\n\u202e"), RULE.passed("\x1b", "\x9b31m")))
    said = text.write(Run((evil,), 1), quiet=False, verbose=True)
    assert not {char for char in said if not char.isprintable()} - {"\n"}
    assert "\\x1b]0;owned\\x07 \\r\\n\\u202e" in said


def test_a_required_skip_of_a_failure_says_that_the_verdict_depends_on_it():
    skip, failed = RULE.skipped("x", "why", required=True), RULE.failed("y", "y: odd")
    report = replace(REPORT, findings=(skip, failed))
    for quiet in (False, True):
        said = text.write(Run((report,), 1), quiet=quiet, verbose=False)
        assert "    – LN001 missing-norm: x: why (the verdict depends on it)\n" in said


def test_what_could_not_be_told_stands_right_below_the_verdict_and_only_there():
    skips = tuple(RULE.skipped(f"h.{i}", "not read", required=True) for i in range(5))
    report = replace(CLEAN, findings=(*CLEAN.findings, *skips), comparisons=())
    for quiet in (False, True):
        said = text.write(Run((report,), 3), quiet=quiet, verbose=False)
        assert said.splitlines()[:3] == [
            "INCOMPLETE  models/clean",
            "  cannot tell",
            "    – LN001 missing-norm (5×): h.{0…4}: not read",
        ]
        assert said.count("not read") == 1
    assert text.write(Run((report,), 3), quiet=False, verbose=True).count(": not read") == 5


def test_nothing_checked_is_said_right_below_the_verdict():
    said = text.render(Run((replace(CLEAN, findings=()),), 3))
    assert said.startswith("INCOMPLETE  models/clean\n  cannot tell\n    – nothing was checked\n  family ")


def test_what_explains_the_rest_is_said_first_and_only_there():
    leading = RULE.failed("family of m", "m: expected a llama, found a gpt2", "two families", explains="all")
    said = text.render(Run((replace(FAILED, findings=(*FAILED.findings, leading)),), 1))
    assert said.splitlines()[1:4] == [
        "  above all",
        "    ✗ LN001 missing-norm: m: expected a llama, found a gpt2",
        "      two families",
    ]
    assert said.count("two families") == 1
    assert "  failed\n    ✗ LN001 missing-norm (10×): " in said
