import numpy as np
import pytest

from ln_audit.diagnosis import fit
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import BFLOAT16, FLOAT32, float64
from ln_audit.numerics.judge import Setting
from ln_audit.numerics.parameters import Variant
from tests.numerics.runs import rows_of

GAIN, BIAS = np.linspace(0.5, 2, 64), np.linspace(-1, 1, 64)
FORM = Variant(None, GAIN, BIAS)
DELTA = float64(rows_of("plain", 64, 5))
R = np.array([[0.5], [1.0], [0.7], [3.0], [0.01]])


def setting(output):
    return Setting("layer_norm", 1e-5, FLOAT32, output)


def test_least_squares_finds_the_reciprocal_of_exact_rows():
    assert fit.least_squares(DELTA, GAIN * DELTA * R + BIAS, FORM) == pytest.approx(R, rel=1e-12)
    assert fit.least_squares(DELTA, DELTA * R, Variant(None, None, None)) == pytest.approx(R, rel=1e-12)


@pytest.mark.parametrize("chain", CHAINS)
def test_every_stored_row_leaves_a_span_that_holds_the_reciprocal_it_was_made_with(chain):
    z = DELTA * R if chain == "once" else BFLOAT16.round(DELTA * R)
    span = fit.reciprocal(DELTA, BFLOAT16.round(GAIN * z + BIAS), FORM, CHAINS[chain], setting(BFLOAT16))
    assert (span.low <= R).all()
    assert (span.high >= R).all()
    assert (np.abs(span.middle - R) <= span.high - span.low).all()
    assert ((span.high - span.low)[:4] < BFLOAT16.u * R[:4]).all()  # far finer than one element's rounding


def test_rows_that_no_reciprocal_explains_have_the_one_that_fits_best():
    after = GAIN * DELTA * R + BIAS
    after[:, 3] += 1
    span = fit.reciprocal(DELTA, after, FORM, None, setting(FLOAT32))
    assert (span.low > span.high).all()
    assert span.middle == pytest.approx(fit.least_squares(DELTA, after, FORM))


def test_the_mean_of_each_row_is_found_with_its_error():
    x, mu = DELTA + 3, np.array([[1.0], [2.0], [3.0], [-4.0], [0.0]])
    found, error = fit.mean(x, GAIN * (x - mu) * R + BIAS, FORM, setting(FLOAT32))
    assert found == pytest.approx(mu, abs=1e-9)
    assert (error > 0).all()


def test_a_row_that_says_nothing_gives_no_number():
    assert np.isnan(fit.least_squares(np.zeros((1, 64)), np.ones((1, 64)), FORM)).all()


def test_rounder_numbers_come_first_and_each_once():
    assert list(fit.rounder(0.7071067811865476)) == [
        0.7, 0.71, 0.707, 0.7071, 0.70711, 0.707107, 0.7071068, 0.7071067811865476,
    ]  # fmt: skip
    assert list(fit.rounder(2.0)) == [2.0]
    assert list(fit.rounder(float("nan"))) == []
