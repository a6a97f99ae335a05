"""What a caller asks for is one frozen value; nothing is demanded by default."""

from dataclasses import FrozenInstanceError, fields
from datetime import date

import pytest

from ln_audit.demand import Demand, Policy, PolicyTarget, Rules, Waiver


def test_nothing_is_demanded_by_default():
    given = {field.name: getattr(Demand(), field.name) for field in fields(Demand)}
    assert {name: value for name, value in given.items() if value not in (None, False, ())} == {"expect": "same"}


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Demand().strict = True  # type: ignore[misc]


def test_a_policy_without_its_rules_keeps_its_families():
    waiver = Waiver("LN102", "ln_f", "x", date(2027, 1, 31))
    policy = Policy("p.toml", "0" * 64, {}, (waiver,), date(2027, 2, 1), Rules(strict=True), (PolicyTarget("a"),))
    bare = policy.without_rules()
    assert (bare.rules, bare.waivers, bare.path, bare.targets) == (Rules(), (), "p.toml", (PolicyTarget("a"),))
    assert policy.expired(waiver)
    assert not Policy("p.toml", "0" * 64, waivers=(waiver,), read_on=date(2027, 1, 31)).expired(waiver)
