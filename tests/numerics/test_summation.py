import numpy as np
import pytest

from ln_audit.numerics.reference import layer_norm, rms_norm
from ln_audit.numerics.summation import LANES, lane_sum, simulate
from tests.numerics.runs import one_by_one, rows_of, run


def by_hand(row, lanes):
    """Lane by lane, one addition after the other, in float32."""
    sums = [np.float32(0)] * lanes
    for at, value in enumerate(row):
        sums[at % lanes] = np.float32(sums[at % lanes] + value)
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [np.float32(a + b) for a, b in zip(sums[:half], sums[half:], strict=True)]
    return float(sums[0])


def test_the_lanes_are_those_of_the_specification():
    assert LANES == (1, 2, 4, 8, 16, 32, 64)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("d", [1, 3, 64, 100, 769])
def test_each_lane_adds_one_by_one_in_float32(lanes, d):
    x = rows_of("outliers", d, 3)
    total = lane_sum(x, lanes)
    assert total.dtype == np.float32
    assert total.tolist() == [[by_hand(row, lanes)] for row in x]


def test_one_lane_is_a_strictly_sequential_sum():
    x = rows_of("plain", 4096, 4)
    assert np.array_equal(lane_sum(x, 1), one_by_one(x))
    assert not np.array_equal(lane_sum(x, 1), lane_sum(x, 8))


@pytest.mark.parametrize(("kind", "norm"), [("layer_norm", layer_norm), ("rms_norm", rms_norm)])
def test_the_simulated_norm_is_a_run_that_sums_in_that_order(kind, norm):
    x = rows_of("mean of 100 sigma", 300, 5)
    z = simulate(x.astype(np.float64), 1e-5, 1, centred=kind == "layer_norm", dtype="float32")
    assert z.dtype == np.float64
    assert np.array_equal(z, run(x, None, None, kind=kind, total=one_by_one).astype(np.float64))
    assert np.allclose(z, norm(x.astype(np.float64), None, None, 1e-5).z, rtol=1e-3, atol=1e-3)
    assert np.abs(z - norm(x.astype(np.float64), None, None, 1e-5).z).max() > 1e-8


def test_epsilon_stands_inside_the_root():
    z = simulate(np.array([[3.0, 1.0]]), 3.0, 1, centred=True, dtype="float64")
    assert z.tolist() == [[0.5, -0.5]]


def test_an_overflow_in_float32_is_shown_and_not_warned_of():
    assert simulate(np.array([[1e30, -1e30]]), 1e-5, 4, centred=True, dtype="float32").tolist() == [[0.0, 0.0]]
