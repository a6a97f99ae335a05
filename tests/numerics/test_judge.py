import numpy as np
import pytest

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32
from ln_audit.numerics.judge import Hypothesis, Setting, judge, prepare
from ln_audit.numerics.parameters import Variant
from ln_audit.numerics.reference import layer_norm, rms_norm
from ln_audit.numerics.summation import simulate

X = np.random.default_rng(0).standard_normal((4, 16))
GAIN, BIAS = np.linspace(0.5, 2, 16), np.linspace(-1, 1, 16)
PLAIN = Hypothesis(Variant("float32", GAIN, BIAS), None)
F32_RUN = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)


def bfloat16_run(**changes):
    return Setting("layer_norm", 1e-5, FLOAT32, BFLOAT16, **changes)


def hypothesis(chain):
    return Hypothesis(Variant("float32", GAIN, BIAS), CHAINS[chain])


def test_prepare_norms_rows_and_bounds_them():
    rows = prepare(X, F32_RUN)
    normed = layer_norm(X, None, None, 1e-5)
    bound, judged = tolerance.normalized_bound(X, normed, tolerance.probable_growth(16), FLOAT32)
    assert np.array_equal(rows.z, normed.z)
    assert np.array_equal(rows.r, normed.r)
    assert np.array_equal(rows.e_z, bound)
    assert np.array_equal(rows.judged, judged)


def test_prepare_knows_both_kinds():
    rows = prepare(X, Setting("rms_norm", 1e-5, FLOAT32, FLOAT32))
    assert np.array_equal(rows.z, rms_norm(X, None, None, 1e-5).z)


def test_the_worst_case_bounds_with_k_equal_to_d():
    rows = prepare(X, Setting("layer_norm", 1e-5, FLOAT32, FLOAT32, worst_case=True))
    bound, _ = tolerance.normalized_bound(X, layer_norm(X, None, None, 1e-5), 16.0, FLOAT32)
    assert np.array_equal(rows.e_z, bound)


def test_lanes_replace_z_but_keep_the_bound_of_the_reference():
    rows = prepare(X, Setting("layer_norm", 1e-5, FLOAT32, FLOAT32, lanes=4))
    assert np.array_equal(rows.z, simulate(X, 1e-5, 4, centred=True, dtype="float32"))
    assert np.array_equal(rows.e_z, prepare(X, F32_RUN).e_z)


def test_the_ratio_is_the_error_in_units_of_the_bound():
    rows = prepare(X, F32_RUN)
    y = layer_norm(X, GAIN, BIAS, 1e-5).y
    e_c = tolerance.compute_bound(y, rows.e_z, GAIN, BIAS, FLOAT32.u)
    e = tolerance.stored_bound(e_c, y, rows.z, GAIN, compute=FLOAT32, output=FLOAT32, early=0)
    found = judge(rows, y + 0.5 * e, PLAIN, F32_RUN)
    assert found.ratio == pytest.approx(np.full((4, 16), 0.5), rel=1e-6)
    assert judge(rows, y - 3 * e, PLAIN, F32_RUN).ratio == pytest.approx(np.full((4, 16), 3.0), rel=1e-6)
    assert np.array_equal(found.e, e)
    assert np.array_equal(found.y, y)
    assert np.array_equal(found.low, y - e)
    assert np.array_equal(found.high, y + e)
    assert found.judged.all()
    assert not found.outside.any()


@pytest.mark.parametrize("chain", ["once", "before_gain"])
def test_a_narrow_output_is_judged_by_its_cell(chain):
    setting = bfloat16_run()
    rows = prepare(X, setting)
    found = judge(rows, BFLOAT16.round(layer_norm(X, GAIN, BIAS, 1e-5).y), hypothesis(chain), setting)
    inside = judge(rows, found.low, hypothesis(chain), setting)
    assert not inside.outside.any()
    assert not judge(rows, found.high, hypothesis(chain), setting).outside.any()
    gap = BFLOAT16.u * np.abs(found.y)
    assert judge(rows, found.high + gap, hypothesis(chain), setting).outside.all()
    assert judge(rows, found.low - gap, hypothesis(chain), setting).outside.all()


def test_a_rounding_before_the_gain_widens_the_ratio_by_that_rounding():
    setting = bfloat16_run()
    rows = prepare(X, setting)
    once, early = (judge(rows, X, hypothesis(chain), setting) for chain in ("once", "before_gain"))
    assert early.e - once.e == pytest.approx(BFLOAT16.u * np.abs(GAIN * rows.z), rel=1e-6)


def test_a_value_that_is_no_number_of_the_declared_dtype_is_inexact_and_outside():
    declared, inferred = bfloat16_run(declared=True), bfloat16_run()
    rows = prepare(X, declared)
    recorded = BFLOAT16.round(layer_norm(X, GAIN, BIAS, 1e-5).y)
    recorded[2, 5] *= 1 + 2.0**-12
    found = judge(rows, recorded, hypothesis("once"), declared)
    assert np.argwhere(found.inexact).tolist() == [[2, 5]]
    assert np.argwhere(found.outside).tolist() == [[2, 5]]
    assert not judge(rows, recorded, hypothesis("once"), inferred).inexact.any()


def float16_run(scale, bias=None):
    setting = Setting("layer_norm", 1e-5, FLOAT32, FLOAT16)
    gain = np.full(4, scale)
    x = np.array([[1.0, 1.0, -1.0, -1.0]])
    return prepare(x, setting), Hypothesis(Variant("float32", gain, bias), CHAINS["once"]), setting


def test_an_infinity_is_right_where_the_reference_overflows_with_its_sign():
    rows, one, setting = float16_run(1e6)
    found = judge(rows, np.array([[np.inf, -np.inf, -np.inf, np.inf]]), one, setting)
    assert found.wrong.tolist() == [[False, True, False, True]]
    assert found.judged.all()
    assert found.ratio[0, [0, 2]].tolist() == [0.0, 0.0]
    assert np.isnan(found.ratio[0, [1, 3]]).all()
    assert not found.outside.any()


def test_a_finite_number_is_wrong_where_the_reference_overflows_far():
    rows, one, setting = float16_run(1e6)
    found = judge(rows, np.array([[65504.0, 65504.0, -65504.0, -65504.0]]), one, setting)
    assert (found.ratio > 100).all()
    assert not found.wrong.any()


def test_inside_the_band_around_the_threshold_both_are_right():
    rows, one, setting = float16_run(65515.0)
    found = judge(rows, np.array([[np.inf, 65504.0, -np.inf, -65504.0]]), one, setting)
    assert not found.wrong.any()
    assert (found.ratio <= 1).all()


def test_an_infinity_far_below_the_threshold_is_wrong():
    rows, one, setting = float16_run(60000.0)
    assert judge(rows, np.full((1, 4), np.inf), one, setting).wrong.all()


def test_nan_is_never_right():
    rows, one, setting = float16_run(1e6)
    found = judge(rows, np.full((1, 4), np.nan), one, setting)
    assert found.wrong.all()
    assert found.judged.all()
    assert np.isnan(found.ratio).all()


def test_rows_that_say_nothing_are_judged_in_nothing():
    x = np.vstack([X[:1], np.full((1, 16), np.nan)])
    rows = prepare(x, F32_RUN)
    found = judge(rows, np.full((2, 16), np.nan), PLAIN, F32_RUN)
    assert found.judged.all(axis=1).tolist() == [True, False]
    assert found.wrong.all(axis=1).tolist() == [True, False]
    assert not found.outside[1].any()
    assert np.isnan(found.ratio[1]).all()


def test_an_ill_conditioned_row_is_not_judged_though_its_numbers_are_finite():
    x = np.vstack([X[:1], 1e7 + X[:1]])
    found = judge(prepare(x, F32_RUN), 1e9 * X[:2], PLAIN, F32_RUN)
    assert np.isfinite(found.y).all()
    assert np.isfinite(found.e).all()
    assert found.judged.tolist() == [[True] * 16, [False] * 16]
    assert (found.ratio[0] > 1).all()
    assert np.isnan(found.ratio[1]).all()


def test_an_element_whose_reference_overflows_float64_is_not_judged():
    gain = np.where(np.arange(16) == 3, 1.7e308, 1.0)
    found = judge(prepare(3 * X, F32_RUN), X, Hypothesis(Variant("float64", gain, None), None), F32_RUN)
    overflowed = (np.abs(prepare(3 * X, F32_RUN).z) > 1.7976931348623157e308 / 1.7e308) & (gain > 1)
    assert overflowed[:, 3].any()
    assert np.array_equal(found.judged, ~overflowed)


@pytest.mark.parametrize(
    ("gain", "bias", "wrong"),
    [(1e2, 0.0, True), (1e4, 0.0, False), (1e2, 4e4, False), (1e2, -4e4, False)],
    ids=["no order of the sums reaches it", "the gain may", "the bias may", "the bias may, below"],
)
def test_an_infinity_in_a_row_that_is_not_judged_is_wrong_where_nothing_reaches_it(gain, bias, wrong):
    setting = Setting("layer_norm", 1e-5, FLOAT32, FLOAT16)
    rows = prepare(1e7 + X[:1], setting)
    one = Hypothesis(Variant("float32", np.full(16, gain), np.full(16, bias)), CHAINS["once"])
    found = judge(rows, np.full((1, 16), np.inf), one, setting)
    assert not found.judged.any()
    assert (found.wrong.all(), found.wrong.any()) == (wrong, wrong)
    assert judge(rows, np.full((1, 16), np.nan), one, setting).wrong.all()
