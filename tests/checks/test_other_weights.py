import pytest

from ln_audit.checks import other_weights
from ln_audit.core import Comparison
from tests.checks.subject_builder import WHOLE, norm, subject


@pytest.mark.parametrize(("packaged", "status"), [(False, "fail"), (True, "skip")])
def test_a_recording_of_other_weights(packaged, status):
    made = Comparison("ln_f", "run", "given", "fail", "other-weights", "recorded with other weights", packaged=packaged)
    (finding,) = other_weights.check(subject(WHOLE, norm(), comparisons=(made,)))
    assert (finding.rule, finding.status, finding.required) == ("LN203", status, False)
    assert "recorded with other weights" in (finding.message, finding.reason)


def test_every_other_comparison_is_not_its_business():
    made = Comparison("ln_f", "run", "given", "fail", "off-reference", "m")
    assert list(other_weights.check(subject(WHOLE, norm(), comparisons=(made,)))) == []
