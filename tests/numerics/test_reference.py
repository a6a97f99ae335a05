import math
from fractions import Fraction

import numpy as np
import pytest

from ln_audit.numerics.reference import NORMS, affine, layer_norm, mean, rms_norm
from tests.numerics.runs import gain_and_bias, rows_of

EPS = 1e-5


def exact(x, gain, bias, eps, *, centred):
    """One row in exact arithmetic, up to the root."""
    row = [Fraction(float(value)) for value in x]
    mu = sum(row) / len(row) if centred else Fraction(0)
    delta = [value - mu for value in row]
    var = sum(value * value for value in delta) / len(row)
    r = 1 / math.sqrt(var + Fraction(eps))
    z = [float(value) * r for value in delta]
    y = [float(g) * each + float(b) for g, each, b in zip(gain, z, bias, strict=True)]
    return {"mu": float(mu), "delta": [float(value) for value in delta], "var": float(var), "r": r, "z": z, "y": y}


@pytest.mark.parametrize("kind", ["plain", "outliers", "mean of 100 sigma", "1e-3", "one-hot"])
@pytest.mark.parametrize("d", [1, 2, 7, 48])
@pytest.mark.parametrize(("norm", "centred"), [(layer_norm, True), (rms_norm, False)])
def test_every_intermediate_is_that_of_exact_arithmetic(kind, d, norm, centred):
    x = rows_of(kind, d, 3).astype(np.float64)
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(d))
    found = norm(x, gain, bias, EPS)
    for n, row in enumerate(x):
        expected = exact(row, gain, bias, EPS, centred=centred)
        for name in ("mu", "var", "r"):
            assert getattr(found, name)[n, 0] == pytest.approx(expected[name], rel=1e-13, abs=1e-14)
        for name in ("delta", "z", "y"):
            assert getattr(found, name)[n].tolist() == pytest.approx(expected[name], rel=1e-12, abs=1e-12)
    assert found.centred is centred


def test_the_row_1_0_0_0_gives_1_732():
    y = layer_norm(np.array([[1.0, 0, 0, 0]]), None, None, 0.0).y
    assert y[0].tolist() == pytest.approx([math.sqrt(3), -1 / math.sqrt(3), -1 / math.sqrt(3), -1 / math.sqrt(3)])


def test_rms_norm_does_not_subtract_the_mean():
    assert rms_norm(np.array([[3.0, 3.0]]), None, None, 0.0).y.tolist() == [[1.0, 1.0]]
    assert layer_norm(np.array([[3.0, 3.0]]), None, None, 1e-5).y.tolist() == [[0.0, 0.0]]


def test_absent_gain_and_bias_are_1_and_0():
    z = np.array([[1.0, -2.0]])
    assert affine(z, None, None).tolist() == [[1.0, -2.0]]
    assert affine(z, np.array([3.0, 5.0]), None).tolist() == [[3.0, -10.0]]
    assert affine(z, None, np.array([10.0, 20.0])).tolist() == [[11.0, 18.0]]
    assert affine(z, np.array([3.0, 5.0]), np.array([10.0, 20.0])).tolist() == [[13.0, 10.0]]


def test_the_mean_keeps_its_axis():
    assert mean(np.array([[1.0, 3.0], [5.0, 6.0]])).tolist() == [[2.0], [5.5]]


@pytest.mark.parametrize("name", NORMS)
def test_rows_without_variance_or_finite_numbers_raise_no_warning(name):
    x = np.array([[0.0, 0.0], [np.inf, 1.0], [1e200, -1e200]])
    normed = NORMS[name](x, None, None, 0.0)
    assert np.isinf(normed.r[0, 0])
    assert np.isnan(normed.z[1]).any()
    assert np.isinf(normed.var[2, 0])


def test_both_kinds_are_known_by_the_names_of_the_contract():
    assert dict(NORMS) == {"layer_norm": layer_norm, "rms_norm": rms_norm}
