"""What pictures show is frozen and bounded, is absent unless asked for, and is no part of the JSON document."""

from dataclasses import replace

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.pictures import Channels, Shares
from ln_audit.reports.document import Run, document

SHARES = Shares(2, 2, 1, 1, ((0.5, None), (3.0, 1.0)), ((0, 0),), (0.5, 1.0, 2.0), (1, 1, 0, 1))


def test_what_lies_beyond_the_tolerance_is_counted_from_1_on():
    assert (SHARES.largest, SHARES.over) == (3.0, 1)
    assert replace(SHARES, cells=((None,),)).largest == 0.0


def test_a_default_audit_keeps_nothing_for_pictures():
    (plain,) = audit("sample", Demand())
    assert [each.shares for each in plain.comparisons] == [None]
    assert {tensor.channels for norm in plain.norms for tensor in norm.tensors} == {None}


def test_pictures_add_their_fields_and_change_nothing_else():
    (plain,), (drawn,) = audit("sample", Demand()), audit("sample", Demand(pictures=True))
    assert all(isinstance(tensor.channels, Channels) for norm in drawn.norms for tensor in norm.tensors)
    assert all(isinstance(each.shares, Shares) for each in drawn.comparisons)
    bare = [replace(n, tensors=tuple(replace(t, channels=None) for t in n.tensors)) for n in drawn.norms]
    without = replace(
        drawn, norms=tuple(bare), comparisons=tuple(replace(each, shares=None) for each in drawn.comparisons)
    )
    assert without == plain
    assert document(Run((drawn,), 0)) == document(Run((plain,), 0))
