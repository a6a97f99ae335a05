"""The two formulas for callers: float64 whatever is given, and arguments that fit no norm are said."""

import ml_dtypes
import numpy as np
import pytest

import ln_audit
from ln_audit.numerics import reference

X = np.random.default_rng(3).normal(size=(3, 4))
GAIN, BIAS = np.array([1.0, 2.0, 0.5, 1.5]), np.array([0.0, 1.0, -1.0, 0.25])


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_it_is_the_reference_with_every_step(name):
    for gain, bias in ((GAIN, BIAS), (GAIN, None), (None, None)):
        found, expected = (getattr(home, name)(X, gain, bias, 1e-5) for home in (ln_audit, reference))
        for part in ("y", "z", "delta", "mu", "var", "r"):
            assert np.array_equal(getattr(found, part), getattr(expected, part)), part
        assert found.centred == (name == "layer_norm")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_narrow_rows_are_normed_in_float64(dtype):
    narrow = X.astype(dtype)
    found = ln_audit.layer_norm(narrow, GAIN.astype(dtype), None, 1e-5).y
    assert found.dtype == np.float64
    assert np.array_equal(
        found, reference.layer_norm(narrow.astype(float), GAIN.astype(dtype).astype(float), None, 1e-5).y
    )


def test_lists_and_integers_are_numbers_too():
    expected = reference.rms_norm(np.array([[3.0, 4.0]]), np.array([1.0, 2.0]), None, 0.0).y
    assert np.array_equal(ln_audit.rms_norm([[3, 4]], [1, 2], None, 0).y, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[0], None, None, 1e-5), r"x: expected rows \[n, d\], found shape \[4\]"),
        ((X[:, :0], None, None, 1e-5), r"x: expected rows \[n, d\], found shape \[3, 0\]"),
        (([[1.0], [1.0, 2.0]], None, None, 1e-5), "x: expected an array of numbers, found "),
        ((X, GAIN[:3], None, 1e-5), r"gain: expected shape \[4\], found \[3\]"),
        ((X, None, BIAS[:, None], 1e-5), r"bias: expected shape \[4\], found \[4, 1\]"),
        ((X, "gain", None, 1e-5), "gain: expected float64, float32, bfloat16 or float16, found <U4"),
        ((X, None, None, "1e-5"), "eps: expected a number, found '1e-5'"),
        ((X, None, None, float("nan")), "eps: expected a finite number, found nan"),
        ((X, None, None, -1.0), "eps: expected a number not below 0, found -1.0"),
    ],
)
def test_arguments_that_fit_no_norm_are_said(arguments, message):
    with pytest.raises(ln_audit.UsageError, match=message):
        ln_audit.layer_norm(*arguments)
