from dataclasses import replace

import pytest

from ln_audit.checks import resolving_power
from ln_audit.comparison import Comparison
from tests.checks.subject_builder import WHOLE, norm, subject

LABEL = "ln_f against run"


def entry(hypothesis, name, distance, hidden_by=None):
    return {"name": name, "hypothesis": hypothesis, "distance": distance, "cells": None, "hidden_by": hidden_by}


FITS = Comparison(
    "ln_f", "run", "given", "pass", "agrees", "m",
    can_tell=(entry("kind", "RMSNorm", 40.0), entry("epsilon", "epsilon 0.1", 7.0), entry("epsilon", "epsilon 1", 9.0)),
)  # fmt: skip
BLIND = (
    entry("epsilon", "epsilon 1e-06", 0.0002, "these rows"),
    entry("epsilon", "epsilon 0", 0.0003, "these rows"),
    entry("deviation", "variance over d − 1", 1.25, "these rows"),
    entry("overflow", "square overflowed", 0.0, "large rows"),
)


def judged(*comparisons):
    return list(resolving_power.check(subject(WHOLE, norm(), comparisons=comparisons)))


def test_what_can_be_told_passes_with_the_nearest_fault_of_each_hypothesis():
    (finding,) = judged(FITS)
    assert (finding.rule, finding.status, finding.subject) == ("LN202", "pass", LABEL)
    assert finding.message == "would have shown 3 faults: kind, epsilon"
    assert finding.evidence == {"kind": 40.0, "epsilon": 7.0}


def test_what_the_rows_hide_is_a_skip_for_each_hypothesis_and_not_required_by_itself():
    told, epsilon, deviation = judged(replace(FITS, cannot_tell=BLIND))
    assert told.message == "would have shown 3 faults: kind, epsilon (2 of 4)"
    assert [(each.status, each.required, each.subject) for each in (epsilon, deviation)] == [
        ("skip", False, f"{LABEL}: epsilon"),
        ("skip", False, f"{LABEL}: deviation"),
    ]
    assert epsilon.reason == (
        "epsilon 1e-06 or 0 could have passed too: no element moves by more than 0.03 % of what rounding explains; epsilon was checked in "
        "config.json: layer_norm_epsilon"
    )
    assert (
        deviation.reason
        == "variance over d − 1 could have passed too: no element moves by more than 1.25 times what rounding explains"
    )
    assert epsilon.evidence == {"epsilon 1e-06": 0.0002, "epsilon 0": 0.0003}


def test_what_strikes_only_rows_that_are_not_here_is_no_gap():
    assert [each.status for each in judged(replace(FITS, cannot_tell=BLIND[3:]))] == ["pass"]


def test_degenerate_rows_are_a_gap():
    _, gap = judged(replace(FITS, degenerate=("a single position",)))
    assert (gap.status, gap.subject, gap.reason) == ("skip", f"{LABEL}: rows", "a single position")


@pytest.mark.parametrize("comparisons", [(), (replace(FITS, status="warn"),), (replace(FITS, status="fail"),)])
def test_without_a_recording_that_fits_nothing_is_proven(comparisons):
    (finding,) = judged(*comparisons)
    assert (finding.status, finding.subject, finding.required) == ("skip", "ln_f", False)
    assert finding.reason == "no recording that fits: nothing to ask what it would have shown"


def test_a_recording_that_can_tell_nothing_passes_in_nothing():
    assert [each.status for each in judged(replace(FITS, can_tell=(), cannot_tell=BLIND[:1]))] == ["skip"]


def test_the_packaged_recording_is_asked_only_where_the_user_has_none_of_this_norm():
    packaged = replace(FITS, packaged=True, recording="ours", cannot_tell=BLIND)
    assert [each.subject for each in judged(FITS, packaged)] == [LABEL]
    assert judged(packaged)[0].subject == "ln_f against ours"
    other = replace(FITS, norm="h.0.ln_1")
    assert [each.subject for each in judged(other, replace(packaged, cannot_tell=()))] == [
        "h.0.ln_1 against run",
        "ln_f against ours",
    ]


def test_without_norms_it_says_nothing():
    assert list(resolving_power.check(subject({}))) == []
