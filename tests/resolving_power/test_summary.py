"""Resolving power in words."""

from dataclasses import replace
from math import inf

import pytest

from ln_audit.resolving_power import summary
from tests.reports.made import COMPARISON


def entry(hypothesis, name, hidden_by=None, distance=3.0):
    return {"name": name, "hypothesis": hypothesis, "distance": distance, "cells": None, "hidden_by": hidden_by}


def change(parameter="gain", smallest=1e-7, largest=3e-6, unseen=0):
    return {
        "parameter": parameter, "smallest": smallest, "channel": 2, "largest": largest, "weakest_channel": 7, "unseen_channels": unseen,
    }  # fmt: skip


FOUND = replace(
    COMPARISON,
    can_tell=(entry("epsilon", "epsilon 0.001 instead of 1e-05"), entry("kind", "RMSNorm")),
    cannot_tell=(
        entry("epsilon", "epsilon 1e-06 instead of 1e-05", "these rows", 0.2),
        entry("epsilon", "epsilon 0 instead of 1e-05", "these rows", 0.3),
        entry("overflow", "square overflowed", "large rows", 0.0),
        entry("overflow", "sum overflowed", "large rows", 0.0),
    ),
    smallest_changes=(change(), change("bias", 2e-7, inf, 3)),
    degenerate=("a single position",),
)


def test_a_report_says_in_plain_words_what_no_finding_says():
    gain = "a gain off by 1e-07 of its value, by 3e-06 in channel 7"
    bias = "a bias off by 2e-07 of its value, none in 3 channels, among them channel 7"
    assert list(summary.lines(FOUND)) == [
        "no row of it could show: square or sum overflowed",
        f"would have seen {gain}; {bias}",
    ]


def test_nothing_is_said_of_a_recording_that_was_not_looked_into():
    assert list(summary.lines(COMPARISON)) == []


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (0.0, "0 % of what rounding explains"), (0.0003, "0.03 % of what rounding explains"),
        (0.212, "21 % of what rounding explains"), (0.999, "0.999 times what rounding explains"),
        (1.0, "1 times what rounding explains"), (12.34, "12.3 times what rounding explains"),
        (inf, "inf times what rounding explains"),
    ],
)  # fmt: skip
def test_an_error_ratio_is_a_part_of_what_rounding_explains(ratio, said):
    assert summary.of_rounding(ratio) == said


def test_one_fault_is_one():
    assert summary.can_tell(replace(FOUND, can_tell=FOUND.can_tell[1:])) == "1 fault: kind"
    assert summary.can_tell(replace(FOUND, can_tell=())) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((), ""),
        ((change("bias", None, None, 0),), ""),
        ((change("gain", inf, inf, 48),), "no gain that is off, in any channel"),
        ((change("gain", 1e-7, inf, 1),), "a gain off by 1e-07 of its value, none in channel 7"),
    ],
)
def test_changes(changes, said):
    assert summary.changes(replace(FOUND, smallest_changes=changes)) == said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["bias missing"], "bias missing"),
        (["bias missing", "bias missing"], "bias missing"),
        (["gain missing", "bias missing"], "gain or bias missing"),
        (["a b c", "a x y"], "a b c or x y"),
        (["eps 1 for 9", "eps 2 for 9", "eps 3 for 9"], "eps 1, 2 or 3 for 9"),
        (["a", "a b"], "a or a b"),
        (["x", "y"], "x or y"),
        ([f"e {n} f" for n in range(9)], "e 0, 1, 2, 3, 4, 5 f and 3 more"),
    ],
)
def test_names_share_their_words(names, said):
    assert summary.listed([entry("h", name) for name in names]) == said
