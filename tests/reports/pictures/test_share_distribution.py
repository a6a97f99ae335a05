"""How many elements use how much of their tolerance: every one is in a bar, on the right side of 1."""

from dataclasses import replace

import pytest

from ln_audit.reports.pictures.share_distribution import share_distribution
from tests.reports.made import COMPARISON
from tests.reports.pictures.compared import comparison
from tests.reports.pictures.drawn import apart, shapes, texts, within


def test_bars_within_the_tolerance_and_beyond_it_have_colours_of_their_own():
    picture = share_distribution(comparison([[0.1, 0.1, 1.0], [1.0001, 80.0, None]]))
    assert picture is not None
    assert len(shapes(picture.svg, "path", fill="var(--blue)")) == 2
    assert len(shapes(picture.svg, "path", fill="var(--vermilion)")) == 2
    assert picture.text == (
        "Of 5 judged elements 2 use up to a quarter of their tolerance, 1 more stay within it, 2 are beyond."
    )
    assert picture.rows == (
        ("0.08839", "0.125", "2"), ("0.7071", "1", "1"), ("1", "1.414", "1"), ("64", "90.51", "1"),
    )  # fmt: skip


def test_the_first_and_the_last_bar_hold_what_lies_beyond_the_edges():
    picture = share_distribution(comparison([[0.0, 1e300]]))
    assert picture is not None
    assert picture.rows == (("0", "0.0009766", "1"), ("1.678e+07", "more", "1"))


@pytest.mark.parametrize(
    "cells", [[[0.0]], [[0.21] * 1000] * 3, [[2.0**at for at in range(-12, 26)]], [[0.99, 1.01]], [[16_792.7]]]
)
def test_every_range_is_labelled_without_overlap(cells):
    picture = share_distribution(comparison(cells))
    assert picture is not None
    assert within(picture.svg)
    assert apart(picture.svg)
    assert "1" in texts(picture.svg)


def test_a_comparison_that_was_not_made_for_pictures_has_none():
    assert share_distribution(replace(COMPARISON, shares=None)) is None
