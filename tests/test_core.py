"""The verdict is the exit code: what opens the gate and what does not."""

import pytest

from ln_audit.core import Stored, TensorInfo
from ln_audit.result import Failure, Finding, Report, Rule, SourceReport, Verdict

RULE = Rule("LN999", "example")
SOURCE = SourceReport("spec", "local", "/spec", None, (), 0, 0)
PASS, FAIL, WARN = RULE.passed("a", "good"), RULE.failed("a", "bad"), RULE.warned("a", "odd")
SKIP, REQUIRED = RULE.skipped("a", "why"), RULE.skipped("a", "why", required=True)
ERROR = Failure("source", "no bytes")


@pytest.mark.parametrize(
    ("findings", "error", "verdict"),
    [
        ((), None, Verdict.INCOMPLETE),
        ((SKIP,), None, Verdict.INCOMPLETE),
        ((WARN,), None, Verdict.INCOMPLETE),
        ((PASS,), None, Verdict.PASS),
        ((PASS, WARN, SKIP), None, Verdict.PASS),
        ((PASS, REQUIRED), None, Verdict.INCOMPLETE),
        ((PASS, FAIL), None, Verdict.FAIL),
        ((PASS, FAIL, REQUIRED), None, Verdict.FAIL),
        ((PASS,), ERROR, Verdict.INCOMPLETE),
        ((PASS, FAIL), ERROR, Verdict.FAIL),
        ((), ERROR, Verdict.INCOMPLETE),
    ],
)
def test_the_verdict_follows_from_findings_and_error(findings, error, verdict):
    assert Report(SOURCE, findings=findings, error=error).verdict is verdict


def test_verdicts_are_their_exit_codes_and_words():
    assert [(int(v), v.word) for v in Verdict] == [(0, "pass"), (1, "fail"), (3, "incomplete")]


def test_a_rule_makes_complete_findings():
    assert RULE.failed("ln_f", "message", "reason", found=3) == Finding(
        "LN999", "example", "fail", "ln_f", "message", "reason", {"found": 3}, required=False
    )
    assert Finding("LN999", "example", "skip", "a", "not decided", "why", {}, required=True) == REQUIRED


def test_elements_are_the_product_of_the_shape():
    assert [TensorInfo("t", "F32", shape, 0).elements for shape in ((), (0,), (3,), (2, 3, 4))] == [1, 0, 3, 24]


def test_stored_values_compare_by_their_bytes():
    assert len({Stored("F32", (1,), b"abcd"), Stored("F32", (1,), b"abcd"), Stored("F32", (1,), b"abce")}) == 2
