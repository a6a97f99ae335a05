import numpy as np
import pytest

from ln_audit.numerics.lone import GAP, GAP_ALONE, lone, quiet


def row(layers: int, width: int, seed: int = 0) -> np.ndarray:
    """Gains of layers that grow, of channels that keep their place, each a little off."""
    draw = np.random.default_rng(seed)
    layer, channel = np.linspace(0.2, 0.5, layers)[:, None], np.exp(0.5 * draw.standard_normal(width))
    return layer * channel * np.exp(0.05 * draw.standard_normal((layers, width)))


def test_healthy_rows_hold_nothing_that_stands_alone():
    for layers in (1, 2, 4, 12):
        assert lone(row(layers, 64), small=True) == []


def test_an_element_far_below_or_above_its_channel_is_found_with_what_was_expected():
    for factor in (2.0**-16, 2.0**16):
        planted = row(12, 64)
        healthy = planted[5, 7]
        planted[5, 7] *= factor
        (found,) = lone(planted, small=True)
        assert (found.layer, found.channel) == (5, 7)
        assert found.expected == pytest.approx(healthy, rel=0.3)
        assert found.ordinary[0] <= healthy <= found.ordinary[1]
        assert found.gap > GAP


def test_without_neighbours_the_tensor_itself_says_what_is_ordinary_and_more_is_asked():
    planted = row(1, 64)
    planted[0, 3] *= 2.0**-16
    (found,) = lone(planted, small=True)
    assert (found.layer, found.channel) == (0, 3)
    assert found.gap > GAP_ALONE
    planted[0, 3] *= 2.0**7
    assert lone(planted, small=True) == []


def test_small_values_are_left_alone_where_values_scatter_around_zero():
    planted = row(12, 64)
    planted[5, 7] *= 2.0**-32
    assert lone(planted, small=False) == []


def test_three_damaged_elements_do_not_hide_each_other_and_four_are_a_habit():
    planted = row(12, 64)
    for count, (layer, channel) in enumerate([(1, 1), (2, 2), (3, 3)], 1):
        planted[layer, channel] *= 2.0**-32
        assert sorted((each.layer, each.channel) for each in lone(planted, small=True)) == [
            (n, n) for n in range(1, count + 1)
        ]
    planted[4, 4] *= 2.0**-32
    assert lone(planted, small=True) == []


def test_a_channel_that_is_restless_in_other_layers_makes_nobody_suspicious():
    planted = row(12, 64)
    planted[2, 9] *= 2.0**-14
    planted[5, 9] *= 2.0**-16
    assert lone(planted, small=True) == []


def test_zeros_and_broken_numbers_are_other_rules_business():
    planted = row(6, 64)
    planted[1, 2], planted[2, 3], planted[3, 4] = 0.0, np.nan, np.inf
    planted[:, 10] = 0.0
    assert lone(planted, small=True) == []
    assert lone(np.zeros((6, 64)), small=True) == []


def test_constant_tensors_have_no_spread_and_one_flipped_element_stands_alone():
    planted = np.ones((4, 64))
    assert lone(planted, small=True) == []
    planted[2, 5] = 2.0**-16
    (found,) = lone(planted, small=True)
    assert (found.layer, found.channel, found.expected) == (2, 5, 1.0)


def test_too_few_values_are_not_judged():
    planted = row(1, 31)
    planted[0, 3] = 1e-30
    assert lone(planted, small=True) == []


def test_magnitudes_at_the_end_of_float64_are_still_magnitudes():
    planted = np.full((1, 64), 1.7e308)
    planted[0, 1] = 1.0
    (found,) = lone(planted, small=True)
    assert found.ordinary[1] == np.inf


def test_what_is_quiet_holds_nothing_and_what_holds_something_is_not_quiet():
    for layers in (1, 3, 4, 12):
        healthy = row(layers, 1100)
        assert quiet(healthy.astype(np.float32))
        assert quiet(list(healthy))
        for factor in (2.0**-20, 2.0**20, 0.0, np.inf):
            planted = healthy.copy()
            planted[0, 1099] *= factor
            if lone(planted, small=True):
                assert not quiet(planted)
