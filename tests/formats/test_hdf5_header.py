import struct

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError
from ln_audit.formats.hdf5_header import NOWHERE, Attribute, Datatype, attribute, contiguous, dataspace, datatype
from tests.formats import hdf5_writer


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("f2", "F16"),
        ("f4", "F32"),
        ("f8", "F64"),
        ("i1", "I8"),
        ("i8", "I64"),
        ("u1", "U8"),
        ("u4", "U32"),
        ("?", "BOOL"),
    ],
)
def test_number_types_have_their_names(dtype, name):
    written = np.dtype(dtype)
    assert datatype(hdf5_writer.datatype(written), "d") == Datatype(name, written.itemsize, big_endian=False)


def test_the_byte_order_is_read():
    assert datatype(hdf5_writer.datatype(np.dtype(">f4")), "d") == Datatype("F32", 4, big_endian=True)


def test_bfloat16_may_be_two_opaque_bytes_or_a_float_of_its_own_layout():
    assert datatype(hdf5_writer.datatype(np.dtype(ml_dtypes.bfloat16)), "d").name == "V2"
    own = struct.pack("<BBBBIHHBBBBI", 0x11, 0x20, 15, 0, 2, 0, 16, 7, 8, 0, 7, 127)
    assert datatype(own, "d") == Datatype("BF16", 2, big_endian=False)


def test_what_is_no_number_of_any_checkpoint_has_no_name():
    long_double = struct.pack("<BBBBIHHBBBBI", 0x11, 0x20, 79, 0, 16, 0, 80, 64, 15, 0, 64, 16383)
    assert datatype(long_double, "d").name is None
    assert datatype(b"\x16" + bytes(15), "d").name is None  # a compound
    with pytest.raises(FormatError, match="^d: expected a datatype, found 7 bytes$"):
        datatype(bytes(7), "d")


def test_shapes_of_both_versions():
    assert dataspace(hdf5_writer.dataspace((2, 3)), "d") == (2, 3)
    assert dataspace(struct.pack("<BBBBQ", 2, 1, 0, 1, 5), "d") == (5,)
    assert dataspace(struct.pack("<BBBB4x", 2, 0, 0, 2), "d") == (0,)  # a null space
    with pytest.raises(FormatError, match="^d: expected a shape, found version 9 with 0 sizes$"):
        dataspace(b"\x09" + bytes(7), "d")
    with pytest.raises(FormatError, match="^d: expected a shape, found version 1 with 4 sizes$"):
        dataspace(hdf5_writer.dataspace((2, 3))[:2].replace(b"\2", b"\4") + bytes(22), "d")


def test_where_one_piece_lies():
    assert contiguous(struct.pack("<BBQQ", 3, 1, 96, 24), "d") == Range(96, 120)
    assert contiguous(struct.pack("<BBQQ", 3, 1, NOWHERE, 24), "d") is None


def _attribute(version: int, name: bytes, kind: bytes, space: bytes, value: bytes) -> bytes:
    sizes = struct.pack("<BxHHH", version, len(name), len(kind), len(space)) + (b"\0" if version == 3 else b"")
    parts = [hdf5_writer.padded(part) if version == 1 else part for part in (name, kind, space)]
    return sizes + b"".join(parts) + value


FIXED = struct.pack("<BBBBI", 0x13, 0, 0, 0, 4)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_text_attribute_of_each_version(version):
    data = _attribute(version, b"name\0", FIXED, hdf5_writer.dataspace(()), b"ln_f")
    assert attribute(data, "d") == Attribute("name", Datatype("text", 4, big_endian=False), b"ln_f")


def test_numbers_and_lists_are_no_texts():
    number = hdf5_writer.datatype(np.dtype("f4"))
    assert attribute(_attribute(1, b"n\0", number, hdf5_writer.dataspace(()), bytes(4)), "d") is None
    assert attribute(_attribute(1, b"n\0", FIXED, hdf5_writer.dataspace((2,)), bytes(8)), "d") is None


def test_an_attribute_that_is_cut_short_is_refused():
    data = _attribute(1, b"name\0", FIXED, hdf5_writer.dataspace(()), b"")[:20]
    with pytest.raises(FormatError, match="^d: expected an attribute of 21 bytes, found 20$"):
        attribute(data, "d")
    with pytest.raises(FormatError, match="^d: expected an attribute of version 1 to 3, found 4$"):
        attribute(b"\4" + bytes(20), "d")
