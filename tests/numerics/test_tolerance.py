from math import sqrt

import numpy as np
import pytest

from ln_audit.numerics import tolerance
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ln_audit.numerics.reference import layer_norm, rms_norm

X = np.array([[3.0, -1.0, 0.5, 7.25], [100.0, 101.0, 99.0, 103.0], [1e-3, 2e-3, -3e-3, 5e-3]])
EPS = 1e-5


def e_z_by_hand(x, k, u, eta, *, centred):
    """docs/numerics.md, section 3, one row in plain Python."""
    d = len(x)
    mu = sum(x) / d if centred else 0.0
    r = 1 / sqrt(sum((v - mu) ** 2 for v in x) / d + EPS)
    m = k * u * sum(abs(v) for v in x) / d if centred else 0.0
    rho = k * u / 2 + 4 * u + (m * r) ** 2 / 2 + eta * r * r / 2
    return [abs(v - mu) * r * (rho + u) + r * m * (1 + rho) + 2 * 2**-53 * abs(v - mu) * r for v in x]


def test_k_is_the_root_of_d_plus_4_or_d_in_the_worst_case():
    assert tolerance.probable_growth(768) == sqrt(768) + 4
    assert tolerance.worst_growth(768) == 768.0


@pytest.mark.parametrize(("norm", "centred"), [(layer_norm, True), (rms_norm, False)])
@pytest.mark.parametrize("compute", [FLOAT32, FLOAT64, FLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize("k", [6.0, 40.0])
def test_the_bound_of_z_is_the_formula_of_the_specification(norm, centred, compute, k):
    e_z, judged = tolerance.normalized_bound(X, norm(X, None, None, EPS), k, compute)
    for n, row in enumerate(X.tolist()):
        assert e_z[n].tolist() == pytest.approx(
            e_z_by_hand(row, k, compute.u, compute.eta, centred=centred), rel=1e-11, abs=0
        )
    if compute is not FLOAT16:
        assert judged.tolist() == [[True], [True], [True]]


@pytest.mark.parametrize(("norm", "centred"), [(layer_norm, True), (rms_norm, False)])
@pytest.mark.parametrize("rounded", [BFLOAT16, FLOAT16], ids=lambda form: form.name)
def test_a_rounded_input_widens_the_bound_to_first_order(norm, centred, rounded):
    normed = norm(X, None, None, EPS)
    exact, _ = tolerance.normalized_bound(X, normed, 6.0, FLOAT32)
    loose, _ = tolerance.normalized_bound(X, normed, 6.0, FLOAT32, rounded)
    for n, row in enumerate(X.tolist()):
        d, r, delta = len(row), float(normed.r[n, 0]), normed.delta[n].tolist()
        h = [rounded.u * abs(v) + rounded.eta / 2 for v in row]
        shift = sum(h) / d if centred else 0.0
        spread = sum(abs(a) * b for a, b in zip(delta, h, strict=True)) / d
        expected = [r * (h[i] + shift + abs(delta[i]) * r * r * spread) for i in range(d)]
        assert (loose - exact)[n].tolist() == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
@pytest.mark.parametrize("rounded", [BFLOAT16, FLOAT16], ids=lambda form: form.name)
def test_a_rounded_input_never_moves_z_further_than_the_bound_says(norm, rounded):
    x = np.random.default_rng(5).standard_normal((200, 64)) * 3 + 1
    cast = rounded.round(x)
    bound, judged = tolerance.normalized_bound(cast, norm(cast, None, None, EPS), 12.0, FLOAT64, rounded)
    moved = np.abs(norm(x, None, None, EPS).z - norm(cast, None, None, EPS).z)
    assert judged.all()
    assert (moved <= bound * (1 + 2 * rounded.u)).all()
    assert moved.max() > bound.max() / 20


def test_compute_bound_adds_the_roundings_of_gain_bias_and_sum():
    y, e_z, u = np.array([[2.0, -3.0]]), np.array([[0.5, 0.25]]), 2.0**-24
    gain, bias = np.array([-4.0, 8.0]), np.array([16.0, -32.0])
    assert tolerance.compute_bound(y, e_z, gain, bias, u).tolist() == [
        [4 * 0.5 + u * 16 + 2 * u * 2, 8 * 0.25 + u * 32 + 2 * u * 3]
    ]
    assert tolerance.compute_bound(y, e_z, None, None, u).tolist() == [[0.5 + 4 * u, 0.25 + 6 * u]]


def test_stored_bound_adds_the_output_rounding_only_where_it_is_narrower():
    e_c, y, z = np.array([[0.5]]), np.array([[-4.0]]), np.array([[-16.0]])

    def bound(output, early, compute=FLOAT32, gain=None):
        return float(tolerance.stored_bound(e_c, y, z, gain, compute=compute, output=output, early=early)[0, 0])

    assert bound(FLOAT32, 0) == 0.5 + 2.0**-150
    assert bound(FLOAT32, 1) == bound(FLOAT32, 0)
    assert bound(FLOAT16, 0) == 0.5 + 2.0**-11 * 4 + 2.0**-25
    assert bound(FLOAT16, 1) == 0.5 + 2.0**-11 * (4 + 16) + 2.0**-25 * 2
    assert bound(FLOAT16, 1, gain=np.array([-3.0])) == 0.5 + 2.0**-11 * (4 + 3 * 16) + 2.0**-25 * (1 + 3)
    assert bound(FLOAT64, 0, FLOAT64) == 0.5


def test_half_of_the_smallest_float64_is_not_zero():
    zero = np.zeros((1, 1))
    assert tolerance.stored_bound(zero, zero, zero, None, compute=FLOAT64, output=FLOAT64, early=0)[0, 0] == 5e-324


def judged(x, norm=layer_norm, eps=EPS, k=6.0, compute=FLOAT32, rounded=None):
    x = np.array([x], dtype=np.float64)
    return bool(tolerance.normalized_bound(x, norm(x, None, None, eps), k, compute, rounded)[1][0, 0])


def test_a_row_without_variance_is_judged_only_with_an_epsilon():
    assert judged([3.0, 3.0, 3.0, 3.0], eps=1e-5)
    assert not judged([3.0, 3.0, 3.0, 3.0], eps=0.0)
    assert not judged([0.0, 0.0], norm=rms_norm, eps=0.0)


def test_a_row_whose_mean_drowns_its_deviation_is_not_judged():
    mean = 8 * 0.25 / (6.0 * FLOAT32.u)  # m·r is 1/4 there, the deviation being 8
    assert judged([0.99 * mean - 8, 0.99 * mean + 8], eps=0.0)
    assert not judged([1.01 * mean - 8, 1.01 * mean + 8], eps=0.0)
    assert judged([1.01 * mean - 8, 1.01 * mean + 8], norm=rms_norm, eps=0.0)


def test_a_row_whose_statistics_drown_in_the_width_is_not_judged():
    assert judged([1.0, -1.0], k=0.45 / FLOAT32.u, norm=rms_norm)
    assert not judged([1.0, -1.0], k=0.55 / FLOAT32.u, norm=rms_norm)


def test_squares_that_underflow_make_a_row_unjudged():
    assert judged([2e-22, -2e-22], eps=0.0, norm=rms_norm)
    assert not judged([2e-23, -2e-23], eps=0.0, norm=rms_norm)


def test_a_row_whose_mean_drowns_in_the_rounding_of_the_input_is_not_judged():
    mean = 8 * 0.25 / BFLOAT16.u
    assert judged([0.99 * mean - 8, 0.99 * mean + 8], rounded=BFLOAT16)
    assert not judged([1.01 * mean - 8, 1.01 * mean + 8], rounded=BFLOAT16)
    assert judged([1.01 * mean - 8, 1.01 * mean + 8])


@pytest.mark.parametrize("x", [[np.nan, 1.0], [np.inf, 1.0], [1e200, -1e200]])
@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_rows_that_are_not_finite_or_overflow_float64_are_not_judged(x, norm):
    assert not judged(x, norm=norm)
