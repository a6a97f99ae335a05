"""The residual stream's growth: one point for each state, in order, and the norm's output beside it."""

import pytest

from ln_audit.reports.pictures.stream_growth import stream_growth
from ln_audit.trace.stream import Magnitude, Outlier
from tests.reports.pictures.drawn import apart, shapes, texts, within
from tests.trace.test_text import a_trace, magnitude


def states(*norms: float | None) -> tuple[Magnitude, ...]:
    return tuple(magnitude(f"hidden_states.{at}", norm) for at, norm in enumerate(norms))


def test_what_the_last_layer_gave_takes_the_place_of_what_was_normed():
    picture = stream_growth(a_trace())
    assert picture is not None
    assert picture.rows == (
        ("hidden_states.0", "4", "", "", ""),
        ("hidden_states.1", "6", "+2.00", "×1.500", ""),
        ("before", "12", "+6.00", "×2.000", ""),
        ("after", "8", "-4.00", "×0.667", ""),
    )
    assert picture.text == (
        "Mean L2 norm per position: 4 in hidden_states.0, 12 in before after 2 steps; the norm reads 12 and gives 8."
    )
    assert len(shapes(picture.svg, "path", fill="var(--blue)")) == 3
    assert len(shapes(picture.svg, "path", fill="var(--green)")) == 1


def test_outlier_channels_stand_in_the_table():
    many = tuple(Outlier(channel, 9.0, 7.5) for channel in range(7))
    picture = stream_growth(a_trace(states=(magnitude("hidden_states.0", 4.0, many),)))
    assert picture is not None
    assert picture.rows[0][4] == "0 (7.5 ×), 1 (7.5 ×), 2 (7.5 ×), 3 (7.5 ×), 4 (7.5 ×) and 2 more"


@pytest.mark.parametrize("count", [0, 1, 2, 12, 13, 33, 120])
@pytest.mark.parametrize("factor", [1.0, 1.01, 1.5])
def test_every_depth_and_growth_is_labelled_without_overlap(count, factor):
    found = states(*(2.0 * factor**at for at in range(count)))
    picture = stream_growth(a_trace(states=found, equal_to_after=()))
    assert picture is not None
    assert within(picture.svg)
    assert apart(picture.svg)
    assert "after" in texts(picture.svg)
    assert len(picture.rows) == (count + 2 if count else 2)


def test_a_state_that_is_not_finite_leaves_a_gap():
    picture = stream_growth(a_trace(states=states(1.0, None, 3.0), equal_to_after=()))
    assert picture is not None
    assert [row[1:4] for row in picture.rows[:3]] == [("1", "", ""), ("–", "", ""), ("3", "", "")]
    assert len(shapes(picture.svg, "path", fill="var(--blue)")) == 2


def test_growth_without_bounds_is_written_short():
    picture = stream_growth(a_trace(states=states(1.0, 2e21), equal_to_after=()))
    assert picture is not None
    assert picture.rows[1][2:4] == ("+2e+21", "×2e+21")


def test_zeros_are_drawn_and_nothing_finite_is_not():
    zero = magnitude("before", 0.0)
    assert stream_growth(a_trace(states=(), before=zero, after=zero)) is not None
    none = magnitude("before", None)
    assert stream_growth(a_trace(states=(), before=none, after=none)) is None
    assert stream_growth(a_trace(states=states(1e200))) is None
