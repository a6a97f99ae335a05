"""First the verdict, then what was checked, then what was not."""

from dataclasses import replace

from ln_audit.reports import text
from ln_audit.reports.document import Run
from ln_audit.result import Failure
from tests.reports.made import BROKEN, FAILED, REPORT, RULE

WHOLE = """\
PASS, 1 warning  gpt2 = openai-community/gpt2 at 607a30d783df
  family       gpt2 (model_type "gpt2" in config.json)
  final norm   ln_f: layer_norm, 4 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)
               gain 4 + bias 4 = 8 parameters, counted from checkpoint tensors
  all norms    1 norm, 8 of 124 parameters
  recording    run.safetensors (recording given by the caller)
               2 positions, 8 elements; largest error 1e-07, 0.25 of the tolerance
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
    assert text.render(Run((BROKEN,), 3)) == "INCOMPLETE  x = /x\n  x: expected a, found b\n  → do this\n"


def test_several_targets_are_counted():
    said = text.render(Run((REPORT, BROKEN, FAILED), 1))
    assert said.endswith("\n3 targets: 1 pass, 1 fail, 1 incomplete\n")


def test_many_failures_of_one_rule_are_counted_unless_asked_for():
    short, whole = text.render(Run((FAILED,), 1)), text.write(Run((FAILED,), 1), quiet=False, verbose=True)
    assert "    ✗ LN001 missing-norm: and 2 more\n" in short
    assert (short.count("expected a"), whole.count("expected a")) == (8, 10)


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


def test_a_required_skip_says_that_the_verdict_depends_on_it():
    undecided = replace(REPORT, findings=(RULE.skipped("x", "why", required=True),))
    assert "    – LN001 missing-norm: x: why (the verdict depends on it)\n" in text.render(Run((undecided,), 3))
