from __future__ import annotations

import struct

import pytest

from ln_audit.core import Range, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import decode
from ln_audit.formats.gguf import read_checkpoint
from ln_audit.formats.gguf_cursor import CUT_SHORT
from ln_audit.formats.gguf_header import MAX_NAME, Entry, Header, read_header
from ln_audit.formats.gguf_types import TYPES
from tests.formats.gguf_file import BOOL, STRING, U32, GgufFile, Tensor, floats
from tests.formats.memory_source import MemorySource

F32 = TYPES[0]


def read(data: bytes) -> Header:
    return read_header(MemorySource({"f": data}), "f")


def refused(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(data)
    return caught.value


def two(**settings) -> GgufFile:
    tensors = [Tensor("a", "F32", (2, 3), floats(*range(6))), Tensor("b", "F32", (2,), floats(8, 9))]
    return GgufFile([("general.architecture", STRING, "gpt2")], tensors, **settings)


@pytest.mark.parametrize(("order", "name"), [("<", "little"), (">", "big")])
@pytest.mark.parametrize("version", [2, 3])
def test_the_header_says_where_everything_lies(order, name, version):
    data = two(order=order, version=version).whole()
    begin = len(data) - 64
    assert read(data) == Header(
        "f",
        len(data),
        version,
        name,
        {"general.architecture": "gpt2"},
        {
            "a": Entry(F32, (2, 3), Range(begin, begin + 24)),
            "b": Entry(F32, (2,), Range(begin + 32, begin + 40)),
        },
    )
    assert begin % 32 == 0


def test_a_quantized_tensor_has_logical_elements_and_stored_bytes():
    header = read(GgufFile(tensors=[Tensor("output_norm.weight", "Q8_0", (2, 128), bytes(272))]).whole())
    info = header.tensors["output_norm.weight"].info("output_norm.weight")
    assert info == TensorInfo("output_norm.weight", "Q8_0", (2, 128), 272)
    assert info.elements == 256


def test_a_file_without_tensors_is_a_header():
    data = GgufFile([("general.architecture", STRING, "llama")]).header()
    assert (read(data).values, read(data).tensors) == ({"general.architecture": "llama"}, {})
    assert len(data) % 32
    assert read(data + bytes(-len(data) % 32)).tensors == {}


@pytest.mark.parametrize("version", [1, 4, 0, 200, 1195835457])
@pytest.mark.parametrize("order", ["<", ">"])
def test_another_version_is_refused_by_its_number(version, order):
    error = refused(two(version=version, order=order).whole())
    assert isinstance(error, UnsupportedError)
    if version < 2**16:
        assert error.message == f"f: GGUF version: expected 2 or 3, found {version}"
    assert ("convert the model again" in error.hint) == (version == 1)


def test_the_alignment_is_what_the_file_says():
    file = two(alignment=64)
    file.values.append(("general.alignment", U32, 64))
    data = file.whole()
    begin = len(data) - 128
    assert [entry.range for entry in read(data).tensors.values()] == [
        Range(begin, begin + 24),
        Range(begin + 64, begin + 72),
    ]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [(U32, 0, "0"), (U32, 24, "24"), (BOOL, True, "True"), (STRING, "32", "'32'"), (STRING, "x" * 2000, "None")],
)
def test_an_alignment_that_is_no_power_of_two_is_refused(kind, value, shown):
    file = two()
    file.values.append(("general.alignment", kind, value))
    assert refused(file.whole()).message == f"f: general.alignment: expected a power of two, found {shown}"


def placed(*offsets: int, shape: tuple[int, ...] = (2,), size: int = 96) -> bytes:
    """F32 tensors of that shape at these offsets, in a data segment of that size."""
    tensors = [Tensor("abc"[i], "F32", shape, b"", offset) for i, offset in enumerate(offsets)]
    data = GgufFile(tensors=tensors).header()
    return data + bytes(-len(data) % 32 + size)


def test_gaps_and_any_order_are_legal():
    header = read(placed(64, 0))
    begin = header.size - 96
    assert [entry.range for entry in header.tensors.values()] == [
        Range(begin + 64, begin + 72),
        Range(begin, begin + 8),
    ]


def test_overlapping_tensors_are_refused():
    assert refused(placed(0, 32, 32)).message == (
        "f: 'c': expected data from byte 168 on where 'b' ends, found an overlap: 160"
    )
    assert "found an overlap" in refused(placed(0, 32, shape=(12,))).message


def test_an_offset_that_is_not_aligned_is_refused():
    assert refused(placed(0, 40)).message == "f: 'b': offset: expected a multiple of 32, found 40"


@pytest.mark.parametrize("offset", [96, 2**63, 2**64 - 32])
def test_an_offset_behind_the_end_is_refused(offset):
    error = refused(placed(0, offset))
    assert error.message.startswith("f: 'b': expected bytes ")
    assert error.message.endswith(", found a file of 192")
    assert error.hint == CUT_SHORT


def test_the_padding_of_the_last_tensor_may_be_there_or_not():
    padded, bare = two().whole(), two(padded=False).whole()
    assert len(padded) - len(bare) == 24
    assert read(padded).tensors == read(bare).tensors
    for length in range(len(bare), len(padded) + 1):
        assert read(padded[:length]).size == length


def test_bytes_behind_the_padding_are_refused():
    data = two().whole()
    error = refused(data + b"\0")
    assert error.message == f"f: size: expected at most {len(data)} bytes as its header says, found {len(data) + 1}"
    assert error.hint == "bytes were appended that belong to no tensor"


def test_an_empty_tensor_takes_no_room():
    header = read(placed(0, 0, shape=(3, 0), size=0))
    assert [entry.info(name) for name, entry in header.tensors.items()] == [
        TensorInfo("a", "F32", (3, 0), 0),
        TensorInfo("b", "F32", (3, 0), 0),
    ]


def test_a_name_stands_once():
    data = GgufFile(tensors=[Tensor("a", "F32", (2,), floats(1, 2)), Tensor("a", "F32", (2,), floats(1, 2))]).whole()
    assert refused(data).message == "f: 'a': expected one tensor of that name, found two"


@pytest.mark.parametrize("length", [0, MAX_NAME + 1, 2**64 - 1])
def test_a_name_has_a_bounded_length(length):
    data = GgufFile(tensor_count=1).header() + struct.pack("<Q", length) + b"x" * min(length, 2000)
    assert refused(data).message == (
        f"f: header byte 24: expected a tensor name of 1 to 1,024 bytes, found a length of {length:,}"
    )


def test_a_name_in_another_encoding_is_refused():
    data = GgufFile(tensors=[Tensor(b"\xff", "F32", (2,), floats(1, 2))]).whole()
    assert refused(data).message == "f: header byte 32: expected a tensor's name in UTF-8, found 0xff"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1,) * 5, "expected at most 4 dimensions, found 5"),
        ((2**60,), "shape: expected fewer than 2^60 elements, found [1152921504606846976]"),
        ((2**30, 2**30), "shape: expected fewer than 2^60 elements, found [1073741824, 1073741824]"),
        ((2**64 - 1, 0), "shape: expected fewer than 2^60 elements, found [18446744073709551615, 0]"),
        ((0, 2**60), "shape: expected fewer than 2^60 elements, found [0, 1152921504606846976]"),
    ],
)
def test_a_shape_that_no_tensor_can_have_is_refused(shape, message):
    assert refused(GgufFile(tensors=[Tensor("a", "F32", shape, b"")]).whole()).message == f"f: 'a': {message}"


def test_an_empty_tensor_of_the_largest_shape_can_be_decoded():
    data = GgufFile(tensors=[Tensor("a", "F16", (0, 2**60 - 1), b"")]).whole()
    assert decode(read_checkpoint(MemorySource({"f": data}), "f").read(["a"])["a"]).shape == (0, 2**60 - 1)


@pytest.mark.parametrize("shape", [(), (31,), (32, 33)])
def test_a_quantized_row_is_whole_blocks(shape):
    data = GgufFile(tensors=[Tensor("a", "Q8_0", shape, bytes(2000))]).whole()
    assert refused(data).message == f"f: 'a': Q8_0: expected rows of a multiple of 32 elements, found {list(shape)}"


@pytest.mark.parametrize(
    ("kind", "found"), [(43, "43"), (2**32 - 1, "4,294,967,295"), (31, "31 (Q4_0_4_4, which llama.cpp reads no more)")]
)
def test_a_type_of_unknown_size_is_refused(kind, found):
    error = refused(GgufFile(tensors=[Tensor("a", kind, (2,), bytes(8))]).whole())
    assert isinstance(error, UnsupportedError)
    assert error.message == f"f: 'a': expected a ggml type of this version, found {found}"


def test_counts_are_bounded_before_anything_is_allocated():
    error = refused(GgufFile(tensor_count=2**64 - 1).header())
    assert error.message == "f: tensor count: expected at most 65,536, found 18,446,744,073,709,551,615"
    assert (
        "expected 8 bytes for the length of a tensor's name" in refused(GgufFile(tensor_count=65_536).header()).message
    )
    assert "expected 8 bytes for the length of a key, found 0" in refused(GgufFile(key_count=1).header()).message


def test_what_is_no_gguf_is_called_what_it_is():
    assert refused(b"<!DOCTYPE html>\n<html>").message == "f: expected a GGUF file, found an HTML page"
    assert refused(b"").message == "f: expected a GGUF file, found an empty file (0 bytes)"
    assert refused(b"FUGG\3\0\0\0").message == "f: expected a file that begins with GGUF, found b'FUGG'"
    assert refused(b"GGU").message == "f: expected a file that begins with GGUF, found b'GGU'"
