"""What a recording would have shown: nearest first, and what it hides told apart from what it never met."""

from dataclasses import replace
from math import inf

from ln_audit.reports.pictures.resolving_bars import resolving_bars
from tests.reports.made import COMPARISON
from tests.reports.pictures.drawn import apart, shapes, texts, within


def entry(hypothesis: str, name: str, distance: float, hidden_by: str | None = None):
    return {"name": name, "hypothesis": hypothesis, "distance": distance, "cells": None, "hidden_by": hidden_by}


RESOLVED = replace(
    COMPARISON,
    can_tell=(
        entry("epsilon", "epsilon 0.001", 1366.0),
        entry("epsilon", "epsilon 0", 12.0),
        entry("kind", "RMSNorm", inf),
    ),
    cannot_tell=(
        entry("epsilon", "epsilon 1e-06", 0.2, "these rows"),
        entry("epsilon", "epsilon 1e-07", 0.3, "these rows"),
        entry("overflow", "squares overflow", 0.0, "large rows"),
    ),
)


def test_each_kind_of_fault_has_a_bar_for_each_fate():
    picture = resolving_bars(RESOLVED)
    assert picture is not None
    assert [each for each in texts(picture.svg) if each[0].isalpha()] == [
        "distance in tolerances",
        "epsilon",
        "epsilon *",
        "kind",
        "overflow *",
    ]
    assert picture.rows == (
        ("epsilon", "would have been seen", "2", "epsilon 0", "12"),
        ("epsilon", "hidden by these rows", "2", "epsilon 1e-07", "0.3"),
        ("kind", "would have been seen", "1", "RMSNorm", "inf"),
        ("overflow", "only other rows would show it", "1", "squares overflow", "0"),
    )
    assert [len(shapes(picture.svg, "path", fill=f"var(--{name})")) for name in ("blue", "orange", "grey")] == [2, 1, 1]


def test_the_words_count_the_faults_of_each_fate():
    picture = resolving_bars(RESOLVED)
    assert picture is not None
    assert picture.text == (
        "3 faults: would have been seen (distance in tolerances: epsilon 12, kind inf)."
        " 2 faults: hidden by these rows (distance in tolerances: epsilon 0.3)."
        " 1 fault: only other rows would show it (distance in tolerances: overflow 0)."
    )


def test_without_a_blind_spot_nothing_is_said_of_one():
    picture = resolving_bars(replace(RESOLVED, cannot_tell=()))
    assert picture is not None
    assert picture.legend == "The nearest fault of each kind. Past the line at 1 these rows would have shown it."


def test_one_bar_and_twenty_are_readable():
    for count in (1, 20):
        entries = tuple(entry(f"hypothesis-{at}", "n", 10.0**at) for at in range(count))
        picture = resolving_bars(replace(RESOLVED, can_tell=entries, cannot_tell=()))
        assert picture is not None
        assert within(picture.svg)
        assert apart(picture.svg)


def test_a_comparison_of_unknown_resolving_power_has_none():
    assert resolving_bars(COMPARISON) is None
