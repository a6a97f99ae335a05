import io

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording.dtypes import Element
from ln_audit.recording.npy import LONGEST, NpyHeader, read_header
from tests.recording.containers import npy_bytes, npy_header


def written(array, version=None):
    buffer = io.BytesIO()
    if version is None:
        np.save(buffer, array)
    else:
        np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_is_read(version, shape, order):
    array = np.asarray(np.zeros(shape, dtype=np.float32), order=order)
    raw = written(array, version)
    fortran = order == "F" and len(shape) > 1 and not array.flags.c_contiguous
    expected = NpyHeader(Element("float32", 4), shape, fortran, len(raw) - array.nbytes)
    assert read_header(raw, len(raw), "a") == expected
    assert expected.end == len(raw)


@pytest.mark.parametrize(
    "header",
    [
        "{'shape': (2,3), 'fortran_order': False, 'descr': '<f4'}",
        '{"descr": "<f4", "fortran_order": False, "shape": (2, 3)}   \n',
        "{'descr':'<f4','fortran_order':False,'shape':(2,3,),}",
        "{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) }",
    ],
)
def test_headers_of_other_writers_are_read(header):
    raw = npy_bytes(header, bytes(24))
    found = read_header(raw, len(raw), "a")
    assert (found.shape, found.fortran, found.begin) == ((2, 3), False, len(raw) - 24)


HEADER = npy_header("<f4", (2, 3))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "a: expected a npy file, found b''"),
        (b"\x93NUMPX\x01\x00", "a: expected a npy file, found b'\\x93NUMPX\\x01\\x00'"),
        (b"\x93NUMPY", "a: npy version: expected 1, 2 or 3, found 0"),
        (npy_bytes(HEADER, version=4), "a: npy version: expected 1, 2 or 3, found 4"),
        (b"\x93NUMPY\x01\x00\x76", "a: npy header: expected 128 bytes, found 9"),
        (npy_bytes(HEADER)[:40], f"a: npy header: expected {10 + len(HEADER)} bytes, found 40"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "a: npy header: expected at most 10,000 bytes, found 4,294,967,295"),
        (npy_bytes("{}"), "a: npy header: expected descr, fortran_order and shape, found '{}'"),
        (
            npy_bytes("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}"),
            (
                "a: npy header: expected descr, fortran_order and shape, found "
                "\"{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}\""
            ),
        ),
        (
            npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
            (
                "a: npy header: expected descr, fortran_order and shape, found "
                "\"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}\""
            ),
        ),
        (
            npy_bytes(HEADER, bytes(23)),
            f"a: expected {10 + len(HEADER) + 24} bytes for float32 [2, 3], found {10 + len(HEADER) + 23}",
        ),
        (
            npy_bytes(HEADER, bytes(25)),
            f"a: expected {10 + len(HEADER) + 24} bytes for float32 [2, 3], found {10 + len(HEADER) + 25}",
        ),
        (
            npy_bytes("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
            "a: dtype: expected bfloat16, float16, float32 or float64, found a structured dtype",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(raw, message):
    with pytest.raises(RecordingError) as error:
        read_header(raw, len(raw), "a")
    assert error.value.message == message


def test_a_file_cut_short_is_told_from_one_with_more_in_it():
    for data, hint in ((bytes(23), "the file was cut short"), (bytes(25), "only one array may be in a file")):
        raw = npy_bytes(HEADER, data)
        with pytest.raises(RecordingError) as error:
            read_header(raw, len(raw), "a")
        assert error.value.hint == hint


def test_an_object_array_is_refused_before_anything_is_unpickled():
    raw = written(np.array([{"a": 1}], dtype=object))
    with pytest.raises(RecordingError, match=r"found \|O, Python objects, which are never read"):
        read_header(raw, len(raw), "a")


def test_a_shape_that_overflows_64_bits_is_a_wrong_size_and_no_crash():
    raw = npy_bytes(npy_header("<f4", (10**18, 10**18)))
    with pytest.raises(RecordingError, match="expected 4,000,000,000,000,000,000,000,000,"):
        read_header(raw, len(raw), "a")


def test_the_longest_header_is_numpys():
    assert LONGEST == 10_000
    padded = HEADER.rstrip() + " " * (LONGEST - len(HEADER.rstrip()))
    raw = npy_bytes(padded, bytes(24))
    assert read_header(raw, len(raw), "a").shape == (2, 3)
