"""The table of keys is whole: every field of the rules has a key, and every key a meaning."""

from dataclasses import fields

from ln_audit.demand import Rules, Waiver
from ln_audit.policy.keys import DIGESTS, POLICY, TARGET, WAIVER


def test_every_rule_has_a_key_and_every_key_a_rule():
    elsewhere = {"pinned": "revisions", "commits": "revisions", "value_digests": "digests", "file_digests": "digests"}
    ruled = {elsewhere.get(each.name, each.name) for each in fields(Rules)}
    assert ruled == (set(TARGET) | set(POLICY)) - {"target", "targets", "waiver"}
    assert list(WAIVER) == [each.name for each in fields(Waiver)]


def test_a_target_may_be_asked_whatever_may_be_asked_of_all_but_whose_families_are_allowed():
    assert set(POLICY) - set(TARGET) == {"targets", "families", "waiver"}


def test_every_key_says_what_it_means_on_one_line():
    keys = [key for table in (POLICY, TARGET, WAIVER, DIGESTS) for key in table.values()]
    assert [key.means for key in keys if not key.means or "\n" in key.means or len(key.means) > 140] == []
    assert {key.type for key in keys if key.choices} == {"choice"}
