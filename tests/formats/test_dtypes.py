from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ln_audit.core import Stored
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES, Decoded, array, decode, misspelt, numpy_dtype, readable, unit_roundoff


@pytest.mark.parametrize(
    ("dtype", "data", "values"),
    [
        ("BOOL", "00 01", [0, 1]),
        ("U8", "00 ff", [0, 255]),
        ("I8", "7f ff", [127, -1]),
        ("I16", "0080 0100", [-32768, 1]),
        ("U16", "0080 0100", [32768, 1]),
        ("I32", "ffffffff", [-1]),
        ("U32", "ffffffff", [2**32 - 1]),
        ("I64", "feffffffffffffff", [-2]),
        ("U64", "0000000000000001", [2**56]),
        ("F16", "003c 007c 0180", [1, np.inf, -(2.0**-24)]),
        ("BF16", "803f c03f 80ff", [1, 1.5, -np.inf]),
        ("F32", "0000803f 000080bf", [1, -1]),
        ("F64", "000000000000f03f", [1]),
        # OCP 8-bit floats: 1 is 0 0111 000 in E4M3, 0 01111 00 in E5M2; E8M0 holds 2^(x - 127); FNUZ has another bias
        ("F8_E4M3", "38 7e b8", [1, 448, -1]),
        ("F8_E5M2", "3c 7b 7c", [1, 57344, np.inf]),
        ("F8_E8M0", "7f 80 00", [1, 2, 2.0**-127]),
        ("F8_E4M3FNUZ", "40 7f", [1, 240]),
        ("F8_E5M2FNUZ", "40 7f", [1, 57344]),
    ],
)
def test_stored_bytes_become_their_values(dtype, data, values):
    stored = Stored(dtype, (len(values),), bytes.fromhex(data))
    assert array(stored).dtype == numpy_dtype(dtype)
    decoded = decode(stored)
    assert decoded.dtype == np.float64
    assert decoded.tolist() == values


def test_every_readable_dtype_is_decoded_by_the_test_above_or_refused():
    unread = {name for name in DTYPES if not readable(name)}
    assert unread == {"F4", "F6_E2M3", "F6_E3M2", "C64"}
    assert not readable("F128")


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3"])
def test_the_dtypes_of_ml_dtypes_are_there_in_a_fresh_process(dtype):
    size = DTYPES[dtype].bits // 8
    code = f"from ln_audit.core import Stored; from ln_audit.formats.dtypes import decode; print(decode(Stored({dtype!r}, (1,), bytes({size}))))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[0.]\n"


def test_shapes_are_kept_down_to_scalars_and_nothing():
    assert decode(Stored("F32", (2, 1), bytes(8))).shape == (2, 1)
    assert decode(Stored("F32", (), np.float32(2.5).tobytes())) == 2.5
    assert decode(Stored("BF16", (3, 0), b"")).shape == (3, 0)


def test_bytes_at_an_odd_place_are_decoded():
    whole = b"x" + np.array([1.5, -2.0], "<f4").tobytes()
    stored = Stored("F32", (2,), memoryview(whole)[1:])  # type: ignore[arg-type]
    assert decode(stored).tolist() == [1.5, -2.0]


def test_complex_values_have_an_array_but_are_no_real_numbers():
    stored = Stored("C64", (1,), np.array([1 + 2j], "<c8").tobytes())
    assert array(stored).tolist() == [1 + 2j]
    with pytest.raises(UnsupportedError, match="dtype C64: expected real values, found complex ones"):
        decode(stored)


@pytest.mark.parametrize("dtype", ["F4", "F6_E2M3", "F6_E3M2", "F128", "FOO"])
def test_packed_and_unknown_dtypes_are_unsupported(dtype):
    message = f"dtype {dtype}: expected one whose values can be read, found a packed or unknown one"
    for use in (array, decode):
        with pytest.raises(UnsupportedError, match=message):
            use(Stored(dtype, (2,), b"\0"))
    with pytest.raises(UnsupportedError, match=message):
        numpy_dtype(dtype)


def test_a_length_that_is_not_the_shapes_is_refused():
    with pytest.raises(FormatError, match=r"F32 \[2\]: expected 8 bytes, found 7"):
        array(Stored("F32", (2,), bytes(7)))


def test_a_signalling_nan_stays_nan_and_warns_nobody():
    assert np.isnan(decode(Stored("F32", (1,), bytes.fromhex("0100807f")))).all()


@pytest.mark.parametrize(
    ("name", "elements", "nbytes", "fault"),
    [
        ("I4", 8, 4, None),
        ("C128", 1, 16, None),
        ("F8_E3M4", 2, 2, None),
        ("BLOB", 3, 100, None),
        ("I4", 8, 8, "expected 8 values of 4 bits in 8 bytes"),
        ("G32", 2, 8, "expected I32 or U32 or F32, by its shape and size"),
        ("F31", 2, 8, "expected F32, by its shape and size"),
        ("F3", 2, 8, "expected F32, by its shape and size"),
        ("BF166", 2, 4, "expected BF16, by its shape and size"),
        ("BOOK", 2, 2, "expected BOOL, by its shape and size"),
        ("F32F32", 2, 8, "expected a dtype such as F32"),
        ("", 2, 8, "expected a dtype such as F32"),
        ("float32", 2, 8, "expected a dtype such as F32"),
    ],
)
def test_a_damaged_name_is_told_from_a_new_one(name, elements, nbytes, fault):
    assert misspelt(name, elements, nbytes) == fault


@pytest.mark.parametrize("shape", [(0, 2**62), (2**62, 0), (0, 2**64 - 1)])
def test_extents_beside_a_zero_are_bounded_too(shape):
    with pytest.raises(UnsupportedError, match="expected extents that can be counted"):
        array(Stored("F32", shape, b""))


def test_tensors_are_decoded_when_they_are_asked_for():
    stored = {"a": Stored("BF16", (2,), bytes.fromhex("803fc03f")), "b": Stored("F32", (1,), bytes(4))}
    arrays = Decoded(stored)
    assert list(arrays["a"]) == [1.0, 1.5]
    assert (list(arrays), len(arrays), "a" in arrays, "c" in arrays, arrays.get("c")) == (
        ["a", "b"],
        2,
        True,
        False,
        None,
    )
    with pytest.raises(UnsupportedError):
        Decoded({"c": Stored("F4", (2,), b"x")})
    with pytest.raises(FormatError):
        Decoded({"c": Stored("F32", (2,), bytes(4))})


def test_the_rounding_of_a_stored_dtype_is_half_a_unit_in_the_last_place():
    told = {dtype: unit_roundoff(dtype) for dtype in ("F64", "F32", "F16", "BF16", "I32", "F8_E4M3", "none")}
    halves = {"F64": 2.0**-53, "F32": 2.0**-24, "F16": 2.0**-11, "BF16": 2.0**-8}
    assert told == {**halves, "I32": 0.0, "F8_E4M3": 0.0, "none": 0.0}
