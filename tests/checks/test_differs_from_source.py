from ln_audit.checks import differs_from_source
from ln_audit.demand import Demand
from tests.checks.subject_builder import WHOLE, norm, subject


def test_asking_for_it_closes_the_gate():
    (finding,) = differs_from_source.check(subject(WHOLE, norm(), demand=Demand(against="other")))
    assert (finding.status, finding.required, "other" in finding.reason) == ("skip", True, True)


def test_not_asking_for_it_says_nothing():
    assert list(differs_from_source.check(subject(WHOLE, norm()))) == []
