import ml_dtypes
import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording.dtypes import NPY, SAFETENSORS, Element, npy_element, numbers, safetensors_element

VALUES = [1.5, -0.25, 3.0]


@pytest.mark.parametrize("descr", NPY)
def test_npy_numbers_of_both_byte_orders_are_read_as_numpy_reads_them(descr):
    raw = np.array(VALUES, dtype=descr).tobytes()
    found = numbers(raw, npy_element(descr, "a.npy"))
    assert found.tolist() == VALUES
    assert found.dtype == np.dtype(descr).newbyteorder("=")
    assert found.dtype.isnative


@pytest.mark.parametrize("name", SAFETENSORS)
def test_safetensors_numbers_are_little_endian(name):
    element = safetensors_element(name, "a.safetensors:x")
    dtype = np.dtype(getattr(ml_dtypes, element.name, element.name))
    raw = np.array(VALUES, dtype=dtype).tobytes()
    assert element == Element(str(dtype), dtype.itemsize)
    found = numbers(raw, element)
    assert (found.dtype, found.astype(float).tolist()) == (dtype, VALUES)


@pytest.mark.parametrize(
    ("descr", "found"),
    [
        ("<i8", "<i8"),
        ("|b1", "|b1"),
        ("<c16", "<c16"),
        ("<f16", "<f16"),
        ("|V2", "|V2, two bytes without a type (numpy saves bfloat16 so)"),
        ("<V2", "<V2, two bytes without a type (numpy saves bfloat16 so)"),
        ("|V8", "|V8"),
        ("|O", "|O, Python objects, which are never read because reading them runs code"),
        ("[", "a structured dtype"),
    ],
)
def test_other_npy_dtypes_are_refused_by_name_with_a_way_out(descr, found):
    with pytest.raises(RecordingError) as error:
        npy_element(descr, "a.npy")
    assert error.value.message == f"a.npy: dtype: expected bfloat16, float16, float32 or float64, found {found}"
    assert "float32" in error.value.hint


def test_the_way_out_for_bfloat16_is_safetensors():
    with pytest.raises(RecordingError) as error:
        npy_element("|V2", "a.npy")
    assert error.value.hint == "save the array as safetensors, which keeps bfloat16, or with .astype('float32')"


@pytest.mark.parametrize("dtype", ["I64", "BOOL", "F8_E4M3", "F4", "C64"])
def test_other_safetensors_dtypes_are_refused_by_name(dtype):
    with pytest.raises(RecordingError) as error:
        safetensors_element(dtype, "r:x")
    assert error.value.message == f"r:x: dtype: expected bfloat16, float16, float32 or float64, found {dtype}"
