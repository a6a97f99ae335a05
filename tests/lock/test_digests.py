"""The digests of rounded values are those that an artifact has which really stores them so."""

import hashlib

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ln_audit.lock.digests import digests, rounded, wide_sha256
from ln_audit.numerics.floats import BFLOAT16, float64
from ln_audit.numerics.parameters import value_sha256

DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
VALUES = np.array([1.0, -0.0, 0.1, 3.14159, 1e-7, 60_000.0, 1 + 2**-9, 1 + 3 * 2**-9, np.nan], np.float32)


@pytest.mark.parametrize("name", DTYPES)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_the_rounded_digest_is_that_of_a_copy_in_that_dtype(name, numbers):
    wide = np.array(numbers, np.float32)
    with np.errstate(over="ignore"):
        copy = wide.astype(DTYPES[name])
    assert digests(wide, 0.0)[f"{name}_sha256"] == value_sha256(copy, 0.0)


@pytest.mark.parametrize("name", DTYPES)
def test_an_offset_is_added_after_a_narrower_copy_has_rounded(name):
    found = digests(VALUES, 1.0, 1.0)
    assert found["value_sha256"] == value_sha256(VALUES, 1.0)
    assert found[f"{name}_before_offset_sha256"] == value_sha256(VALUES.astype(DTYPES[name]), 1.0)
    effective = (VALUES + np.float32(1)).astype(DTYPES[name])
    assert found[f"{name}_sha256"] == value_sha256(effective, 0.0)


def test_both_conventions_give_the_same_digests():
    stored = np.array([0.5, -0.25, 0.125, 2.0], np.float32)
    assert digests(stored, 1.0, 1.0) == digests(stored + np.float32(1), 0.0, 1.0)


def test_values_beyond_float32_have_the_digest_of_their_float64():
    values = np.array([0.1, 1.0], np.float64)
    found = digests(values, 0.0)
    assert list(found) == ["float64_sha256", "float32_sha256", "bfloat16_sha256", "float16_sha256"]
    assert found["float64_sha256"] == hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()
    assert found["float32_sha256"] == value_sha256(values.astype(np.float32), 0.0)


def test_every_nan_is_the_same():
    odd = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert wide_sha256(odd) == wide_sha256(np.array([np.nan]))


def test_a_tie_goes_to_the_even_neighbour():
    tie = float64(np.array([1 + 2**-8], np.float32))
    assert rounded(tie, BFLOAT16) == value_sha256(np.array([1.0], np.float32), 0.0)
