"""A waiver that is over fails by itself."""

from datetime import date

from ln_audit.checks import expired_waiver
from ln_audit.demand import Demand, Policy, Waiver
from tests.checks.subject_builder import WHOLE, norm, subject


def test_an_expired_one_fails_and_one_in_force_says_nothing():
    old = Waiver("LN102", "h.{layer}.ln_1", "pruned", date(2026, 12, 31))
    new = Waiver("LN102", "ln_f", "pruned", date(2027, 1, 1))
    policy = Policy("ln-audit.toml", "0" * 64, {}, (old, new), date(2027, 1, 1))
    (finding,) = expired_waiver.check(subject(WHOLE, norm(), demand=Demand(policy=policy)))
    assert (finding.status, finding.subject, finding.message, finding.reason) == (
        "fail",
        "h.{layer}.ln_1",
        "ln-audit.toml: waiver of LN102 for h.{layer}.ln_1: expected a day that is not over, found 2026-12-31",
        "it waives nothing any more; it said: pruned",
    )


def test_no_policy_says_nothing():
    assert list(expired_waiver.check(subject(WHOLE, norm()))) == []
