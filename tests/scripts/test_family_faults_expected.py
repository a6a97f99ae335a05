"""What a report makes of a planted fault: the right rule, the right subject, the right cause, or it was missed."""

from dataclasses import replace

import pytest

from ln_audit.comparison import Comparison, Explanation
from ln_audit.result import Finding, Report, SourceReport
from scripts.family_faults.expected import Expected, judged

SOURCE = SourceReport("x", "local", "x", None, (), 0, 0)
ROWS = Expected("fails by", "LN201", "{norm} against ", explained="epsilon", hidden=("epsilon",))


def report(*findings: Finding, comparisons: tuple[Comparison, ...] = ()) -> Report:
    return Report(SOURCE, findings=(Finding("LN005", "x", "pass", "norm", ""), *findings), comparisons=comparisons)


def found(rule: str, status: str, subject: str = "norm", message: str = "m") -> Finding:
    return Finding(rule, "x", status, subject, message, required=True)  # type: ignore[arg-type]


def compared(status: str, *causes: str, hidden: tuple[str, ...] = ()) -> Comparison:
    explained = tuple(Explanation(cause, 0.5, {}, "") for cause in causes)
    told = tuple({"name": name, "hypothesis": name} for name in hidden)
    return Comparison("norm", "r", "p", status, "f", "m", explained_by=explained, cannot_tell=told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("finding", "word"),
    [
        (found("LN001", "fail"), "named"),
        (found("LN001", "fail", "another norm"), "missed"),
        (found("LN002", "fail"), "missed"),
        (found("LN001", "warn"), "missed"),
        (found("LN001", "pass"), "missed"),
    ],
)
def test_a_structure_fault_is_named_by_its_rule_and_its_norm(finding, word):
    assert judged(Expected("fails by", "LN001", "{norm}$"), report(finding), "norm").word == word


def test_a_warning_suffices_where_one_is_expected():
    expected = Expected("warns by", "LN103", "{norm}$")
    assert judged(expected, report(found("LN103", "warn")), "norm").word == "warned"
    assert judged(expected, report(), "norm").word == "missed"


@pytest.mark.parametrize(
    ("causes", "word"),
    [(("epsilon 1",), "named"), (("x", "epsilon 1"), "named"), (("x",), "other cause"), ((), "unexplained")],
)
def test_a_number_needs_its_own_cause(causes, word):
    off = found("LN201", "fail", "norm against r")
    assert judged(ROWS, report(off, comparisons=(compared("fail", *causes),)), "norm").word == word


def test_a_pass_is_cannot_tell_only_if_it_says_so_itself():
    says, silent = compared("pass", hidden=("epsilon",)), compared("pass", hidden=("kind",))
    assert judged(ROWS, report(comparisons=(says,)), "norm").word == "cannot tell"
    assert judged(ROWS, report(comparisons=(silent,)), "norm").word == "missed"
    assert judged(ROWS, report(found("LN002", "fail"), comparisons=(says,)), "norm").word == "missed"
    assert judged(replace(ROWS, hidden=()), report(comparisons=(says,)), "norm").word == "missed"


def test_within_what_rounding_can_do_is_cannot_tell():
    for status, finding in (("skip", "unexplained"), ("warn", "cannot-tell")):
        undecided = replace(compared(status), finding=finding)
        assert judged(ROWS, report(found("LN201", status), comparisons=(undecided,)), "norm").word == "cannot tell"
    assert (
        judged(ROWS, report(comparisons=(replace(compared("skip"), finding="no-parameters"),)), "norm").word == "missed"
    )


def test_another_right_answer_counts_as_well():
    either = Expected("fails by", "LN203", "{norm} against ", otherwise=ROWS)
    off = report(found("LN201", "fail", "norm against r"), comparisons=(compared("fail", "epsilon 1"),))
    assert judged(either, off, "norm").word == "named"
    assert judged(either, report(found("LN203", "fail", "norm against r")), "norm").word == "named"


@pytest.mark.parametrize(
    ("finding", "word"),
    [
        (found("LN001", "pass"), "passes"),
        (found("LN001", "fail"), "false alarm"),
        (found("LN103", "warn"), "false alarm"),
        (found("LN008", "skip"), "false alarm"),
        (replace(found("LN202", "skip"), required=False), "passes"),
    ],
)
def test_a_healthy_model_passes_without_a_warning_or_a_gap(finding, word):
    assert judged(Expected("passes"), report(finding), "norm").word == word


def test_a_norm_that_rounds_in_a_way_of_its_own_cannot_be_told_in_a_narrow_run():
    own = replace(compared("skip"), finding="another-chain")
    skipped = found("LN201", "skip", "norm against r")
    assert judged(Expected("passes"), report(skipped, comparisons=(own,)), "norm").word == "cannot tell"
    both = report(skipped, found("LN001", "fail"), comparisons=(own,))
    assert judged(Expected("passes"), both, "norm").word == "false alarm"


def test_what_nothing_shows_must_not_be_claimed_to_be_seen():
    expected = Expected("cannot be seen without the source")
    assert judged(expected, report(), "norm").word == "not seen"
    assert judged(expected, report(found("LN201", "pass", "norm against r")), "norm").word == "missed"
    assert judged(expected, report(found("LN103", "fail")), "norm").word == "named"


def test_a_miss_says_what_was_found_instead():
    outcome = judged(
        Expected("fails by", "LN001", "{norm}$"), report(found("LN002", "fail", "other", "half of it")), "norm"
    )
    assert outcome.message == "fail; LN002 fail other: half of it"
