from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS, float64
from tests.numerics.runs import nearest

NARROW = pytest.mark.parametrize("form", [BFLOAT16, FLOAT16, FLOAT32], ids=lambda form: form.name)


def test_the_facts_of_each_format_are_those_of_numpy_and_ml_dtypes():
    for form in FORMATS.values():
        info = ml_dtypes.finfo(form.name)
        assert (form.eta, form.max) == (float(info.smallest_subnormal), float(info.max))
        assert form.u == float(info.eps) / 2


def test_formats_are_listed_from_the_narrowest_on():
    assert list(FORMATS) == ["bfloat16", "float16", "float32", "float64"]


@pytest.mark.parametrize(("form", "dtype"), [(BFLOAT16, ml_dtypes.bfloat16), (FLOAT16, np.float16)])
def test_every_number_of_a_format_rounds_to_itself_and_halves_to_even(form, dtype):
    bits = np.arange(0x7F80 if form is BFLOAT16 else 0x7C00, dtype=np.uint16)  # all from 0 to the largest
    numbers = bits.view(dtype).astype(np.float64)
    assert np.array_equal(form.round(numbers), numbers)
    assert np.array_equal(form.round(-numbers), -numbers)
    middle = (numbers[:-1] + numbers[1:]) / 2
    even = np.where(bits[:-1] % 2 == 0, numbers[:-1], numbers[1:])
    assert np.array_equal(form.round(middle), even)
    assert np.array_equal(form.round(np.nextafter(middle, np.inf)), numbers[1:])
    assert np.array_equal(form.round(np.nextafter(middle, 0)), numbers[:-1])


def test_a_value_just_above_a_tie_is_not_rounded_twice():
    x = 1 + 2.0**-8 + 2.0**-40  # float32 would lose the last term, and bfloat16 then take the even neighbour, 1
    assert BFLOAT16.round(np.array([x])).tolist() == [1 + 2.0**-7]
    assert float(np.float32(x).astype(ml_dtypes.bfloat16)) == 1.0


@NARROW
@given(x=st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_that_of_exact_arithmetic(form, x):
    assert form.round(np.array([x])).tolist() == [nearest(Fraction(x), form.precision, form.emin, form.emax)]


@given(x=st.floats(width=64))
def test_rounding_to_float32_and_float16_is_the_casts(x):
    values = np.array([x])
    with np.errstate(all="ignore"):
        expected = [values.astype(np.float32).astype(float), values.astype(np.float16).astype(float)]
    for form, cast in zip((FLOAT32, FLOAT16), expected, strict=True):
        assert form.round(values).tobytes() == cast.tobytes() or np.isnan(x)


def test_float64_is_left_as_it_is():
    x = np.array([1 / 3, 5e-324, -1e308])
    assert FLOAT64.round(x) is x


@NARROW
def test_overflow_begins_half_a_spacing_above_the_largest_number(form):
    below = np.nextafter(form.overflow, 0)
    x = np.array([form.max, below, form.overflow, 1e300, np.inf, -form.overflow, -np.inf])
    assert form.round(x).tolist() == [form.max, form.max, np.inf, np.inf, np.inf, -np.inf, -np.inf]


def test_nothing_lies_above_the_largest_float64():
    assert FLOAT64.overflow == FLOAT64.max == np.finfo(np.float64).max


@NARROW
def test_the_sign_of_zero_is_kept_and_nan_stays_nan(form):
    x = np.array([0.0, -0.0, 1e-300, -1e-300, np.nan])
    assert np.signbit(form.round(x)).tolist()[:4] == [False, True, False, True]
    assert form.round(x).tolist()[:4] == [0, 0, 0, 0]
    assert np.isnan(form.round(x)[4])


def test_the_spacing_is_the_distance_between_neighbours():
    x = np.array([1.0, 1.99, 2.0, -0.75, 0.0, 2.0**-140, 3e38])
    expected = [2.0**-7, 2.0**-7, 2.0**-6, 2.0**-8, 2.0**-133, 2.0**-133, 2.0**120]
    assert BFLOAT16.spacing(x).tolist() == expected
    assert FLOAT16.spacing(np.array([1e-9])).tolist() == [2.0**-24]


def test_holds_tells_exact_numbers_infinities_and_nan_from_the_others():
    x = np.array([1.0, 1 + 2.0**-7, 1 + 2.0**-8, 2.0**-133, 2.0**-134, np.inf, np.nan, 1e39])
    assert BFLOAT16.holds(x).tolist() == [True, True, False, True, False, True, True, False]


def test_a_strided_view_is_rounded_like_its_copy():
    x = np.linspace(-3, 3, 60).reshape(6, 10).T[::2]
    assert np.array_equal(BFLOAT16.round(x), BFLOAT16.round(x.copy()))


def test_float64_takes_every_format_without_a_warning():
    signalling = np.array([0x7F800001], dtype=np.uint32).view(np.float32)
    assert np.isnan(float64(signalling)).tolist() == [True]
    assert float64(np.array([1.5, -2], dtype=ml_dtypes.bfloat16)).tolist() == [1.5, -2.0]


def test_the_spacing_of_float64_does_not_overflow():
    assert FORMATS["float64"].spacing(np.array([1.0, 1.5, 4.0])).tolist() == [2.0**-52, 2.0**-52, 2.0**-50]
