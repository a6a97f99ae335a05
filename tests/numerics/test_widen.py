import numpy as np
import pytest

from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS
from ln_audit.numerics.widen import all_held, contained, single
from tests.numerics.runs import BF16, F16, F32

EVERY = np.arange(2**16, dtype=np.uint32).astype(np.uint16).reshape(256, 256)


@pytest.mark.parametrize("dtype", [BF16, F16], ids=str)
def test_every_number_of_two_bytes_becomes_the_same_float32(dtype):
    stored = EVERY.view(dtype)
    found, expected = single(stored, np.empty((256, 256), F32)), stored.astype(F32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wider_numbers_are_left_as_they_are(dtype):
    stored = np.ones((2, 3), dtype)
    assert single(stored, np.empty((2, 3), F32)) is stored


def test_which_formats_lie_inside_which():
    inside = {stored: [name for name, output in FORMATS.items() if contained(stored, output)] for stored in FORMATS}
    assert inside == {
        "bfloat16": ["bfloat16", "float32", "float64"],
        "float16": ["float16", "float32", "float64"],
        "float32": ["float32", "float64"],
        "float64": ["float64"],
    }


@pytest.mark.parametrize("output", [BFLOAT16, FLOAT16], ids=lambda each: each.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_of_a_format_is_held_by_it_and_a_neighbour_is_not(output, dtype):
    with np.errstate(invalid="ignore"):  # signalling NaN
        stored = EVERY.view(BF16 if output is BFLOAT16 else F16).astype(dtype)
    assert all_held(stored, output)
    for value in (1.0, 2.0**output.emin, output.eta, output.max):
        one = np.array([[value]], dtype)
        assert all_held(one, output)
        assert not all_held(np.nextafter(one, dtype(np.inf)), output)
    assert not all_held(np.array([[output.eta / 2]], dtype), output)
    assert not all_held(np.array([[output.max * 1.001]], dtype), output)


def test_numbers_of_float64_are_held_by_float32_or_not():
    assert all_held(np.array([[0.1, np.nan, np.inf, -0.0]], F32).astype(np.float64), FLOAT32)
    assert all_held(np.array([[2.0**-149, 2.0**127]]), FLOAT32)
    assert not all_held(np.array([[1.0, 0.1]]), FLOAT32)
    assert not all_held(np.array([[1e300]]), FLOAT32)
    assert all_held(np.array([[1e300]]), FLOAT64)


@pytest.mark.parametrize("output", [BFLOAT16, FLOAT16, FLOAT32], ids=lambda each: each.name)
def test_it_says_what_the_format_itself_says(output):
    rng = np.random.default_rng(0)
    for scale in (1e-45, 1e-39, 1e-7, 1.0, 1e5, 1e38):
        exact = output.round(rng.standard_normal((8, 8)) * scale)
        assert all_held(exact, output) is bool(output.holds(exact).all())
        noisy = exact.copy()
        noisy[3, 3] *= 1 + 2.0**-30
        assert all_held(noisy, output) is bool(output.holds(noisy).all())
