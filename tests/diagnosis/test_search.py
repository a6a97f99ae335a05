import numpy as np
import pytest

from ln_audit.diagnosis import another_epsilon, deviation, diagnose, fitted_epsilon, sample, scaled
from ln_audit.diagnosis.registry import HYPOTHESES
from ln_audit.diagnosis.search import search
from tests.diagnosis.suspects import BEFORE, diagnosed, honest, layer_norm, reference, suspect
from tests.numerics.runs import F32, rows_of

SMALL = BEFORE * F32(1e-3)


def test_what_explains_is_named_first_in_the_message_and_all_of_it_in_explained_by():
    found = diagnosed(suspect(reference(SMALL, layer_norm(), eps=1e-6), SMALL))
    assert (found.status, found.finding) == ("fail", "off-reference")
    assert found.message.startswith("epsilon 1e-06 instead of 1e-05: 12 of 12 judged elements are off the reference; ")
    assert [each.name for each in found.explained_by] == ["epsilon 1e-06 instead of 1e-05"]


def test_two_that_explain_equally_are_both_named_and_said_not_to_be_told_apart():
    x = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], F32)
    delta = x - x.mean(axis=1, keepdims=True)
    after = 2 * delta / (x.std(axis=1, ddof=1, keepdims=True) + 1e-6)
    found = diagnosed(suspect(after.astype(F32), x, layer_norm(gain=np.full(4, 2, F32), bias=None)))
    assert [each.name for each in found.explained_by] == [
        "variance over d − 1, with epsilon 1e-06",
        "variance over d − 1 and epsilon outside the root, with epsilon 1e-06",
    ]
    assert found.message.startswith(
        "variance over d − 1, with epsilon 1e-06, or variance over d − 1 and epsilon outside the root, with epsilon 1e-06 "
        "(this recording cannot tell them apart): "
    )


def test_a_hypothesis_that_takes_numbers_is_not_tried_where_a_simpler_one_explains():
    of = suspect(reference(SMALL, layer_norm(), eps=1e-6), SMALL)
    both = (another_epsilon, fitted_epsilon)
    assert [each.name for each in search(both, of, honest(of)).explanations] == ["epsilon 1e-06 instead of 1e-05"]
    assert search((fitted_epsilon,), of, honest(of)).explanations != ()


def test_a_cause_that_holds_on_the_sample_only_is_no_cause(monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_ELEMENTS", 16 * 6)
    x = rows_of("1e-3", 16, 4000)
    norm = layer_norm(gain=None, bias=None)
    after = reference(x, norm, eps=1e-6)
    assert diagnosed(suspect(after, x, norm)).explained_by[0].name == "epsilon 1e-06 instead of 1e-05"
    after[1234] *= F32(1.0001)  # as many elements off as everywhere, and less than most
    found = diagnosed(suspect(after, x, norm))
    assert found.explained_by == ()
    assert "nearest is epsilon 1e-06 instead of 1e-05" in found.message


def test_a_number_that_may_be_the_rounding_of_the_sums_decides_nothing():
    of = suspect(reference(BEFORE, layer_norm()) * F32(1.00002))
    found = search((deviation, scaled), of, honest(of), bounded=True)
    assert (found.explanations, found.undecided) == ((), True)
    assert found.nearest == "output scaled by 1.00002 would explain it, and so would the rounding of its sums"
    assert search((deviation, scaled), of, honest(of)).explanations[0].name == "output scaled by 1.00002"


def test_an_infinite_output_is_diagnosed_too():
    with np.errstate(over="ignore"):
        after = (reference(BEFORE, layer_norm()) * F32(1e38)) * F32(1e3)
    found = diagnosed(suspect(after))
    assert (found.status, found.finding) == ("fail", "nonfinite-output")
    assert [each.name for each in found.explained_by] == []


@pytest.mark.parametrize("positions", [1, 2])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_smallest_recordings_are_diagnosed_without_a_fault_of_ours(width, positions):
    norm = layer_norm(gain=None, bias=None)
    for after in (np.ones((positions, width), F32), np.zeros((positions, width), F32)):
        of = suspect(after * F32(3), rows_of("plain", width, positions), norm)
        assert all(each.error_ratio <= 1 for each in diagnose(of, honest(of)).explanations)


def test_at_most_three_are_told():
    of = suspect(reference(BEFORE, layer_norm()))  # the reference itself: whatever cannot be seen here explains
    assert len(search(HYPOTHESES, of, honest(of)).explanations) <= 3
