import pytest

from ln_audit.checks import off_reference
from ln_audit.comparison import OUTPUT_IS_BIAS, Comparison
from tests.checks.subject_builder import WHOLE, norm, subject


def comparison(status, finding="off-reference", packaged=False):
    return Comparison("ln_f", "run.safetensors", "given", status, finding, "what was found", packaged=packaged)


def judged(*comparisons):
    return list(off_reference.check(subject(WHOLE, norm(), comparisons=comparisons)))


@pytest.mark.parametrize("status", ["pass", "warn", "fail"])
def test_a_comparison_becomes_a_finding_of_the_same_status(status):
    (finding,) = judged(comparison(status))
    assert (finding.status, finding.subject, finding.message) == (
        status,
        "ln_f against run.safetensors",
        "what was found",
    )


@pytest.mark.parametrize(("packaged", "required"), [(False, True), (True, False)])
def test_an_undecided_recording_of_the_users_keeps_the_gate_closed(packaged, required):
    (finding,) = judged(comparison("skip", "nothing-judged", packaged))
    assert (finding.status, finding.reason, finding.required) == ("skip", "what was found", required)


def test_without_a_recording_it_is_undecided_and_says_how_to_give_one():
    (finding,) = judged()
    assert (finding.status, finding.required) == ("skip", False)
    assert finding.reason == "no recorded hidden states: give --recording FILE, or --before and --after"


def test_other_weights_are_another_rules_business():
    (finding,) = judged(comparison("fail", "other-weights"))
    assert (finding.status, finding.required) == ("skip", False)
    assert finding.reason == "recorded with other weights: what the norm computed of them was not judged"
    assert judged(comparison("skip", "other-weights")) == []


def test_a_nonfinite_input_is_said_to_lie_upstream():
    (finding,) = judged(comparison("fail", "nonfinite-input"))
    assert finding.reason == "the fault lies upstream of this norm"


def test_rows_that_could_show_nothing_are_no_pass():
    from dataclasses import replace

    blind = replace(
        comparison("pass", "agrees"), degenerate=("a single position", f"every row is constant: {OUTPUT_IS_BIAS}")
    )
    (finding,) = judged(blind)
    assert (finding.status, finding.required) == ("skip", True)
    assert (
        finding.reason
        == "it fits, and says nothing of what the norm computed: every row is constant: the output is the bias, whatever the gain"
    )
    (seeing,) = judged(replace(blind, degenerate=("a single position", "every row is constant")))
    assert seeing.status == "pass"
