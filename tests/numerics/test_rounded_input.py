import numpy as np
import pytest

from ln_audit.numerics.floats import BFLOAT16, FLOAT32
from ln_audit.numerics.judge import Hypothesis, Setting, judge, prepare
from ln_audit.numerics.parameters import Variant
from ln_audit.numerics.reference import layer_norm
from ln_audit.numerics.rounded_input import RoundingSigns

X = 5 * np.random.default_rng(3).standard_normal((64, 96))
SETTING = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)
VARIANT = Variant(None, None, None)


def signs(recorded, x=X, variant=VARIANT):
    found = RoundingSigns()
    rows = prepare(x, SETTING)
    found.add(judge(rows, recorded, Hypothesis(variant, None), SETTING), rows, x, variant, BFLOAT16)
    return found


def test_an_input_rounded_later_leaves_deviations_of_the_expected_size_and_no_direction():
    cast = BFLOAT16.round(X)
    found = signs(layer_norm(X, None, None, 1e-5).y, cast)
    assert found.excess == pytest.approx(found.expected, rel=0.05)
    assert abs(found.outward) < 0.05 * found.excess
    assert found.plausible


def test_the_gain_scales_what_is_expected():
    plain, tripled = signs(X), signs(X, variant=Variant("float32", np.full(96, -3.0), None))
    assert tripled.expected == pytest.approx(3 * plain.expected)


def test_deviations_in_one_direction_are_no_rounding():
    y = layer_norm(X, None, None, 1e-5).y
    outwards, inwards = signs(y * (1 + 2.0**-9)), signs(y * (1 - 2.0**-9))
    assert outwards.outward == pytest.approx(outwards.excess, rel=1e-6)
    assert inwards.outward == pytest.approx(-inwards.excess, rel=1e-6)
    assert not outwards.plausible
    assert not inwards.plausible


def test_deviations_that_are_too_small_are_no_rounding():
    rng = np.random.default_rng(9)
    y = layer_norm(X, None, None, 1e-5).y
    noise = rng.uniform(-1, 1, X.shape) * BFLOAT16.spacing(X) / 2 * prepare(X, SETTING).r
    assert signs(y + noise).plausible
    assert not signs(y + 0.4 * noise).plausible


def test_elements_that_are_not_judged_or_not_finite_count_for_nothing():
    x = X.copy()
    x[0] = np.nan
    recorded = layer_norm(x, None, None, 1e-5).y * 1.01
    recorded[1, 0] = np.inf
    found = signs(recorded, x)
    y, rows = layer_norm(x, None, None, 1e-5).y[1:], prepare(x[1:], SETTING)
    kept = np.isfinite(recorded[1:])
    e = judge(rows, y, Hypothesis(VARIANT, None), SETTING).e
    excess = np.where(kept, np.maximum(0.01 * np.abs(y) - e, 0), 0)
    assert found.excess == pytest.approx(excess.sum(), rel=1e-6)
    assert found.outward == pytest.approx(excess.sum(), rel=1e-6)
    assert found.expected == pytest.approx((rows.r * BFLOAT16.spacing(x[1:]) / 4)[kept].sum())


@pytest.mark.parametrize(
    ("excess", "outward", "expected", "plausible"),
    [(50, 0, 100, True), (49, 0, 100, False), (50, 37.5, 100, True), (50, -37.5, 100, True), (50, 38, 100, False)],
)
def test_half_the_size_and_less_than_seven_eighths_in_one_direction_are_asked_for(excess, outward, expected, plausible):
    assert RoundingSigns(excess, outward, expected).plausible is plausible
