import io

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ln_audit.core import Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import npy_header
from ln_audit.formats.dtypes import DTYPES, array
from ln_audit.formats.npy_header import NpyHeader, read_header, stored


def npy(values: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, values, version)
    return out.getvalue()


def named(descr: str, shape: str = "(2,)", rest: str = "") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, {rest}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


NUMBERS = st.sampled_from(
    ["b1", "i1", "u1"] + [o + k for o in "<>" for k in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8")]
)


@given(
    hnp.arrays(NUMBERS.map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)),
    st.booleans(),
    st.sampled_from([(1, 0), (2, 0), (3, 0)]),
)
def test_whatever_numpy_writes_comes_back_in_the_machines_order(values, fortran, version):
    data = npy(values.copy("F") if fortran else values, version)
    header = read_header(data, len(data), "a")
    read = stored(header, data[header.begin :], "a")
    native = values.astype(values.dtype.newbyteorder("="))
    assert DTYPES[read.dtype].numpy == native.dtype.name
    assert header.info("a") == TensorInfo("a", read.dtype, values.shape, values.nbytes)
    assert array(read).tobytes() == native.tobytes()


def test_numbers_as_stored_are_handed_on_as_they_are():
    data = npy(np.array([1.5, -0.0], np.float32))
    assert read_header(data, len(data), "a") == NpyHeader("F32", False, False, (2,), 128, 8)
    assert stored(read_header(data, len(data), "a"), data[128:], "a") == Stored("F32", (2,), data[128:])


def test_bfloat16_without_a_type_is_named_with_the_remedy():
    data = npy(np.ones(3, ml_dtypes.bfloat16))
    header = read_header(data, len(data), "w.npz: 'ln_f.weight'")
    assert (header.dtype, header.nbytes) == ("V2", 6)
    with pytest.raises(UnsupportedError) as caught:
        stored(header, data[header.begin :], "w.npz: 'ln_f.weight'")
    assert caught.value.message == (
        "w.npz: 'ln_f.weight': dtype: expected numbers, found V2, two bytes without a type (NumPy saves bfloat16 so)"
    )
    assert caught.value.hint == "save it as safetensors, which keeps bfloat16, or with .astype('float32')"


@pytest.mark.parametrize("descr", ["|O", "<O8"])
def test_python_objects_are_never_read(descr):
    with pytest.raises(
        UnsupportedError, match="(?m)Python objects, which are never read because reading them runs code$"
    ):
        read_header(named(descr), 500, "a")


def test_a_structure_is_no_tensor():
    data = npy(np.zeros(2, [("w", "<f4"), ("b", "<f4")]))
    with pytest.raises(UnsupportedError, match=r"^a: dtype: expected numbers, found .*'w', '<f4'"):
        read_header(data, len(data), "a")


@pytest.mark.parametrize("values", [np.array(["gpt2"]), np.array([b"gpt2"]), np.array(["2020-01-01"], "M8[D]")])
def test_words_and_dates_have_no_dtype(values):
    data = npy(values)
    assert read_header(data, len(data), "a").dtype is None


def test_numbers_wider_than_any_checkpoint_has_are_listed_and_not_read():
    data = npy(np.ones(2, np.complex128))
    header = read_header(data, len(data), "a")
    assert header.info("a") == TensorInfo("a", "C128", (2,), 32)
    with pytest.raises(UnsupportedError, match="^a: dtype: expected one whose values can be read, found C128$"):
        stored(header, data[header.begin :], "a")


def test_a_header_of_python_2_is_read():
    data = named("<f4", "(2L, 3L)") + bytes(24)
    assert read_header(data, len(data), "a").shape == (2, 3)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "expected an array of NumPy, found b''"),
        (b"\x93NUMPY", "npy version: expected 1, 2 or 3, found 0"),
        (b"\x93NUMPY\x07\0\1\0", "npy version: expected 1, 2 or 3, found 7"),
        (b"\x93NUMPY\x02\0\xff\xff\xff\xff", "npy header: expected at most 10,012 bytes, found 4,294,967,307"),
        (named("<f4")[:40], "npy header: expected 68 bytes, found 40"),
        (named("<f4", "(-2,)"), "npy header: expected descr, fortran_order and shape, found "),
        (named("<f4", "(2,)", "'x': __import__('os')"), "npy header: expected descr, fortran_order and shape, found "),
        (named("<f4", "(2,)", "'shape': (3,)"), "npy header: expected descr, fortran_order and shape, found "),
        (named("<q4"), "dtype: expected one of NumPy's, found '<q4'"),
        (named("<f4"), "expected 76 bytes for <f4 [2], found 68"),
        (named("<f4") + bytes(9), "expected 76 bytes for <f4 [2], found 77"),
        (named("<f4", f"({'9' * 19},)"), "expected 40,000,000,000,000,000,082 bytes for <f4 ["),
    ],
)
def test_what_is_no_header_is_refused_with_both_sides(data, found):
    with pytest.raises(FormatError) as caught:
        read_header(data, len(data), "a")
    assert caught.value.message.startswith(f"a: {found}")


def test_too_many_dimensions_are_refused():
    with pytest.raises(UnsupportedError, match="^a: expected at most 64 dimensions, found 65$"):
        read_header(named("<f4", f"({'1,' * 65})"), 500, "a")


def test_no_header_takes_long_however_it_repeats_itself():
    for text in (
        "'descr':" * 1_200,
        "'shape': (" + "1," * 4_900,
        "'shape': (" + " " * 9_900,
        "{" * 9_990,
        "'descr': '" * 990,
    ):
        data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        with pytest.raises(FormatError):
            read_header(data, len(data), "a")
    assert npy_header.header_length(named("<f4"), "a") == len(named("<f4"))
