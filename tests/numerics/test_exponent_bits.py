import struct

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Stored
from ln_audit.numerics.exponent_bits import exponent_bits, restored


def stored(dtype: str, *values: float) -> Stored:
    kinds = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": ml_dtypes.bfloat16}
    return Stored(dtype, (len(values),), np.array(values).astype(kinds[dtype]).tobytes())


@pytest.mark.parametrize("dtype", ["BF16", "F32"])
def test_one_and_a_half_with_each_of_its_exponent_bits_turned(dtype):
    # The exponent of 1.5 is 01111111: seven bits divide by 2^(2^bit), the highest makes it infinite or no number.
    found = restored(stored(dtype, 9.0, 1.5), 1)
    assert found == tuple((bit, 1.5 / 2.0 ** (2**bit)) for bit in range(7))


def test_a_value_above_two_has_bits_that_multiply_and_one_that_divides():
    found = dict(restored(stored("F32", 3.0), 0))
    assert found[0] == 6.0
    assert found[3] == 3.0 * 2.0**8
    assert found[7] == struct.unpack("<f", struct.pack("<I", 0x40400000 ^ 0x40000000))[0]


def test_narrow_and_wide_floats_have_their_own_exponents():
    assert restored(stored("F16", 1.5), 0) == ((0, 0.75), (1, 0.375), (2, 1.5 / 16), (3, 1.5 / 256))
    assert dict(restored(stored("F64", 1.5), 0))[9] == 1.5 / 2.0**512
    assert [exponent_bits(dtype) for dtype in ("F16", "BF16", "F32", "F64", "I8")] == [5, 8, 8, 11, 0]


def test_what_a_broken_number_was_is_found_in_its_highest_bit():
    nan = Stored("F32", (1,), (struct.unpack("<I", struct.pack("<f", 1.25))[0] ^ 1 << 30).to_bytes(4, "little"))
    assert np.isnan(np.frombuffer(nan.data, "<f4")[0])
    assert restored(nan, 0)[-1] == (7, 1.25)


def test_values_that_are_not_the_stored_ones_have_no_bits():
    assert restored(Stored("F32", (1,), b"\0\0\x80?", exact=False), 0) == ()
    assert restored(Stored("I8", (1,), b"\1"), 0) == ()
