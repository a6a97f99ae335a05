"""The median is NumPy's, without what NumPy's imports."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ln_audit.numerics.median import median


@given(arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=7), elements=st.floats(width=32)), st.data())
@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered")
def test_it_is_that_of_numpy_along_any_axis(values, data):
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    assert np.array_equal(median(values, axis), np.median(values, axis=axis), equal_nan=True)


def test_the_middle_of_an_odd_number_is_one_of_them():
    assert median(np.array([1, 3e38, 3.4e38], np.float32)) == np.float32(3e38)


def test_narrow_floats_keep_their_dtype():
    found = median(np.array([1, 4, 2, 8], ml_dtypes.bfloat16))
    assert (found.dtype, float(found)) == (np.dtype(ml_dtypes.bfloat16), 3.0)


def test_of_nothing_is_nan():
    assert np.isnan(median(np.zeros((2, 0), np.float32))).tolist() == [True, True]


def test_it_does_not_import_masked_arrays():
    code = (
        "import sys; from ln_audit.numerics.median import median; median([1.0, 2.0]); print('numpy.ma' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
