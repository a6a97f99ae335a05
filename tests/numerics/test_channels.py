"""A tensor over its channels: the envelope holds every value, and who stands apart is named."""

import numpy as np
import pytest

from ln_audit.numerics.channels import APART, MOST, channels


def test_a_small_tensor_has_one_point_for_each_channel():
    found = channels(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert (found.count, found.per_bin) == (4, 1)
    assert found.lows == found.highs == (1.0, 2.0, 3.0, 4.0)
    assert (found.outliers, found.apart, found.broken, found.nonfinite) == ((), 0, (), 0)


@pytest.mark.parametrize("size", [MOST, MOST + 1, 3 * MOST, 16384, 100_003])
def test_a_large_one_has_a_bounded_envelope_that_no_value_leaves(size):
    values = np.random.default_rng(size).normal(size=size)
    found = channels(values)
    assert len(found.lows) == len(found.highs) == -(-size // found.per_bin) <= MOST
    for at, (low, high) in enumerate(zip(found.lows, found.highs, strict=True)):
        part = values[at * found.per_bin : (at + 1) * found.per_bin]
        assert (low, high) == (part.min(), part.max())


def test_channels_that_stand_apart_are_named_the_furthest_first():
    values = np.random.default_rng(1).normal(1, 0.1, 768)
    values[[138, 378]] = [9.0, -3.0]
    found = channels(values)
    assert found.outliers == ((138, 9.0), (378, -3.0))
    assert found.apart == 2


def test_the_list_is_bounded_and_the_rest_counted():
    values = np.random.default_rng(1).normal(1, 0.1, 768)
    values[:20] += 5
    found = channels(values)
    assert (len(found.outliers), found.apart) == (8, 20)


def test_where_all_but_a_few_are_the_same_those_few_stand_apart():
    values = np.ones(100)
    values[7] = 1.5
    assert channels(values).outliers == ((7, 1.5),)
    assert channels(np.ones(5)).apart == 0


def test_normal_values_have_no_outliers():
    assert APART == 8.0
    assert sum(channels(np.random.default_rng(seed).normal(size=1000)).apart for seed in range(200)) == 0


def test_what_is_no_number_leaves_a_gap_and_is_counted():
    values = np.array([1.0, np.nan, 3.0, np.inf])
    found = channels(values)
    assert found.lows == (1.0, None, 3.0, None)
    assert (found.broken, found.nonfinite) == ((1, 3), 2)
    nothing = channels(np.full(3, np.nan))
    assert (nothing.lows, nothing.outliers, nothing.nonfinite) == ((None, None, None), (), 3)


def test_the_ends_of_float64_raise_no_warning():
    found = channels(np.array([1.7e308, -1.7e308, 0.0, 1.7e308]))
    assert found.highs == (1.7e308, -1.7e308, 0.0, 1.7e308)
