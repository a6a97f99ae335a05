from ln_audit.checks import lock_mismatch
from ln_audit.demand import Demand
from tests.checks.subject_builder import WHOLE, norm, subject


def test_asking_for_it_closes_the_gate():
    (finding,) = lock_mismatch.check(subject(WHOLE, norm(), demand=Demand(lock="other")))
    assert (finding.status, finding.required, "other" in finding.reason) == ("skip", True, True)


def test_not_asking_for_it_says_nothing():
    assert list(lock_mismatch.check(subject(WHOLE, norm()))) == []
