import pytest

from ln_audit.checks import other_weights
from ln_audit.comparison import Comparison
from ln_audit.demand import Demand
from tests.checks.subject_builder import WHOLE, norm, subject


@pytest.mark.parametrize(("packaged", "status"), [(False, "fail"), (True, "skip")])
def test_a_recording_of_other_weights(packaged, status):
    made = Comparison("ln_f", "run", "given", "fail", "other-weights", "recorded with other weights", packaged=packaged)
    (finding,) = other_weights.check(subject(WHOLE, norm(), comparisons=(made,)))
    assert (finding.rule, finding.status, finding.required) == ("LN203", status, False)
    assert "recorded with other weights" in (finding.message, finding.reason)


@pytest.mark.parametrize(("weights", "status"), [("same", "pass"), ("unknown", "skip")])
def test_digests_that_agree_pass_and_none_at_all_is_undecided(weights, status):
    made = Comparison("ln_f", "run", "given", "fail", "off-reference", "m", weights=weights)
    (finding,) = other_weights.check(subject(WHOLE, norm(), comparisons=(made,)))
    assert (finding.status, finding.required) == (status, False)


@pytest.mark.parametrize("word", ["LN203", "other-weights", "ln203"])
def test_required_by_name_it_is_undecided_without_a_recording(word):
    (finding,) = other_weights.check(subject(WHOLE, norm(), demand=Demand(require=("all", word))))
    assert (finding.status, finding.required, finding.reason) == ("skip", True, "required, and there is no recording")
    assert list(other_weights.check(subject(WHOLE, norm(), demand=Demand(require=("all",))))) == []
