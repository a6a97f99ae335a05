"""See test_core for the verdict; here: a report is frozen and its verdict a property of what it holds."""

from dataclasses import FrozenInstanceError, replace

import pytest

from ln_audit.result import Verdict, leads
from tests.reports.made import BROKEN, REPORT, RULE


def test_the_verdict_is_computed_never_stored():
    with pytest.raises(FrozenInstanceError):
        REPORT.findings = ()  # type: ignore[misc]
    assert REPORT.verdict is Verdict.PASS
    assert replace(REPORT, findings=(RULE.failed("a", "b"),)).verdict is Verdict.FAIL


def test_at_a_prompt_a_report_is_one_short_line():
    assert repr(REPORT) == "<Report pass: gpt2: gpt2, 1 norms, 1 warn, 1 skip, 1 pass>"
    assert repr(BROKEN) == "<Report incomplete: x: x: expected a, found b>"
    assert repr(replace(BROKEN, error=None)) == "<Report incomplete: x: no findings>"
    evil = replace(BROKEN, source=replace(BROKEN.source, spec="\x1b[31m" + "x" * 1_000))
    assert repr(evil).isprintable()
    assert len(repr(evil)) == 300


def test_a_failure_that_explains_others_leads():
    assert leads(RULE.failed("a", "b", explains="all"))
    assert not leads(RULE.failed("a", "b", explains=None))
    assert not leads(replace(RULE.failed("a", "b", explains="all"), status="warn"))  # as a waiver makes it
