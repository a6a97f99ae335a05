import numpy as np
import pytest

from ln_audit.diagnosis.narrow_statistics import GRIDS, near, on_grid, statistics
from ln_audit.numerics.floats import BFLOAT16, FLOAT16

X = np.array([[200.0, 11, -11, 11], [1, 2, 3, 4]])
CENTRE = np.zeros((2, 1))


def test_wide_sums_are_rounded_once():
    (_, stepwise), (mu, statistics_alone) = statistics(X, CENTRE, 0.0, BFLOAT16, summed=False)
    assert mu.tolist() == [[0.0], [0.0]]
    assert (1 / statistics_alone**2).ravel() == pytest.approx([10112, 7.5])  # of 10,090.75 and 7.5
    assert (1 / stepwise**2).ravel() == pytest.approx([10048, 7.5])  # 40,000 was 39,936 before it was summed


def test_narrow_sums_lose_what_is_below_half_a_spacing():
    *_, (_, one_by_one) = statistics(X, CENTRE, 0.0, BFLOAT16, summed=True)
    assert (1 / one_by_one[0] ** 2).tolist() == pytest.approx([9984])  # 39,936 + 121 is 39,936 again
    assert len(statistics(X, CENTRE, 0.0, BFLOAT16, summed=True)) == 6


def test_a_mean_that_is_not_given_is_narrow_too():
    (mu, _), _ = statistics(X + 1000.5, None, 0.0, BFLOAT16, summed=False)
    assert BFLOAT16.holds(mu).all()
    assert mu.ravel().tolist() == [1056.0, 1004.0]


def test_a_square_beyond_float16_gives_a_reciprocal_of_zero():
    (_, stepwise), _ = statistics(X * 10, CENTRE, 0.0, FLOAT16, summed=False)
    assert stepwise[0] == 0


@pytest.mark.parametrize("grid", GRIDS)
def test_the_reciprocal_lies_on_the_grid_of_what_was_rounded_last(grid):
    r, eps = np.array([[0.3], [0.7]]), 1e-2
    found = on_grid(r, eps, BFLOAT16, grid)
    rounded = {
        "variance": 1 / found**2 - eps,
        "variance + epsilon": 1 / found**2,
        "deviation": 1 / found,
        "reciprocal": found,
    }[grid]
    assert rounded == pytest.approx(BFLOAT16.round(rounded), rel=1e-12)
    assert found == pytest.approx(r, rel=BFLOAT16.u)


def test_a_mean_that_is_fitted_well_is_rounded_and_one_that_is_not_is_the_simulated_one():
    fitted, simulated = np.array([[1.003], [1.003]]), [np.array([[1.5], [1.5]]), np.array([[1.25], [1.25]])]
    error = np.array([[1e-6], [1.0]])
    assert near(fitted, error, simulated, BFLOAT16).tolist() == [[1.0], [1.25]]
