from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save

from ln_audit.core import Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import safetensors
from ln_audit.formats.safetensors import PREFETCH, read_checkpoint, read_header, recognises
from ln_audit.formats.safetensors_header import Entry
from tests.formats.memory_source import MemorySource

ONE = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


def packed(header: object, data: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header, ensure_ascii=False).encode()
    return len(raw).to_bytes(8, "little") + raw + data


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read_header(MemorySource({"f": data}), "f")
    return caught.value.message


def test_the_header_says_where_everything_lies():
    data = packed(
        {
            "__metadata__": {"format": "pt"},
            "b": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
            "a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        },
        bytes(11),
    )
    header = read_header(MemorySource({"f": data}), "f")
    assert (header.file, header.size, header.data_start) == ("f", len(data), len(data) - 11)
    assert header.tensors == {"b": Entry("U8", (3,), 8, 11), "a": Entry("F32", (2, 1), 0, 8)}
    assert header.metadata == {"format": "pt"}
    assert header.range("b") == Range(len(data) - 3, len(data))


def test_metadata_becomes_declared_facts():
    checkpoint = read_checkpoint(MemorySource({"f": packed({"__metadata__": {"format": "mlx"}})}), "f")
    assert checkpoint.declared == (Declared("__metadata__.format", "mlx", "f"),)


@pytest.mark.parametrize("length", [PREFETCH + i for i in (-17, -9, -8, -7, -1, 0, 1, 7, 8, 9, 4_000)])
def test_a_header_of_any_length_around_the_prefetch_is_read_right(length):
    filler = length - len(json.dumps(ONE)) - len('"__metadata__": {"x": ""}, ')
    header = json.dumps({"__metadata__": {"x": "y" * filler}, **ONE}).encode()
    assert len(header) == length
    source = MemorySource({"f": packed(header, b"12345678")})
    assert read_checkpoint(source, "f").read(["a"]) == {"a": Stored("F32", (2,), b"12345678")}
    rest = [("f", (Range(PREFETCH, 8 + length),))] if 8 + length > PREFETCH else []
    assert source.reads == [("f", (Range(0, PREFETCH),)), *rest, ("f", (Range(8 + length, 16 + length),))]


def test_values_are_asked_for_in_one_call_and_in_file_order():
    data = bytes(save({name: np.full(2, i, np.float32) for i, name in enumerate("abcd")}))
    source = MemorySource({"f": data})
    checkpoint = read_checkpoint(source, "f")
    stored = checkpoint.read(["d", "a", "d", "c"])
    assert {name: np.frombuffer(value.data, "<f4").tolist() for name, value in stored.items()} == {
        "a": [0, 0],
        "c": [2, 2],
        "d": [3, 3],
    }
    begin = len(data) - 32
    assert source.reads[1:] == [
        ("f", (Range(begin, begin + 8), Range(begin + 16, begin + 24), Range(begin + 24, begin + 32)))
    ]


def test_a_file_cut_short_is_refused_with_both_sizes():
    assert refusal(packed(ONE, bytes(7))) == "f: size: expected 77 bytes as its header says, found 76"


def test_trailing_bytes_are_refused_with_both_sizes():
    assert refusal(packed(ONE, bytes(9))) == "f: size: expected 77 bytes as its header says, found 78"


def test_a_gap_or_an_addition_of_bytes_tells_the_way_out():
    for length, hint in (
        (7, "the file was cut short; download or copy it again"),
        (9, "bytes were appended that belong to no tensor"),
    ):
        with pytest.raises(FormatError) as caught:
            read_header(MemorySource({"f": packed(ONE, bytes(length))}), "f")
        assert caught.value.hint == hint


def test_a_header_longer_than_the_file_is_refused_with_both_sizes():
    assert (
        refusal((1_000).to_bytes(8, "little") + b"{}")
        == "f: size: expected at least 1,008 bytes for its header, found 10"
    )


def test_a_file_shorter_than_the_length_field_is_refused():
    assert refusal(b"\x02\0\0") == "f: header length: expected 8 bytes, found a file of 3"


def test_a_header_over_the_formats_limit_is_refused_before_anything_is_allocated():
    message = "f: header length: expected at most 100,000,000 bytes, found 18,446,744,073,709,551,615"
    assert refusal(b"\xff" * 8 + b"{}") == message


def test_a_header_of_exactly_our_own_limit_is_read():
    data = packed(b"{}".ljust(safetensors.MAX_READ))
    assert read_header(MemorySource({"f": data}), "f").tensors == {}


def test_a_length_of_exactly_the_formats_limit_is_not_over_it():
    assert recognises((100_000_000).to_bytes(8, "little") + b"{")
    assert not recognises((100_000_001).to_bytes(8, "little") + b"{")
    assert not recognises((2).to_bytes(8, "little"))
    assert (
        refusal((100_000_000).to_bytes(8, "little") + b"{")
        == "f: size: expected at least 100,000,008 bytes for its header, found 9"
    )


def test_a_header_over_our_own_limit_is_unsupported():
    data = packed(b" " * (safetensors.MAX_READ + 1))
    with pytest.raises(UnsupportedError, match="expected at most 20,000,000 bytes in this version, found 20,000,001"):
        read_header(MemorySource({"f": data}), "f")


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(4, 8)], "f: '0': expected data from byte 0 where the header ends, found a gap: 4"),
        ([(0, 4), (8, 12)], "f: '1': expected data from byte 4 where '0' ends, found a gap: 8"),
        ([(0, 8), (4, 8)], "f: '1': expected data from byte 8 where '0' ends, found an overlap: 4"),
        ([(0, 4), (0, 4)], "f: '1': expected data from byte 4 where '0' ends, found an overlap: 0"),
        ([(0, 8), (2, 2)], "f: '1': expected data from byte 8 where '0' ends, found an overlap: 2"),
    ],
)
def test_gaps_and_overlaps_are_refused(spans, message):
    tensors = {str(i): {"dtype": "U8", "shape": [e - b], "data_offsets": [b, e]} for i, (b, e) in enumerate(spans)}
    assert refusal(packed(tensors, bytes(12))) == message


def test_tensors_without_elements_may_lie_between_others():
    spans = {"z": (4, 4), "a": (0, 4), "b": (4, 8), "y": (8, 8), "x": (0, 0)}
    tensors = {name: {"dtype": "U8", "shape": [e - b], "data_offsets": [b, e]} for name, (b, e) in spans.items()}
    checkpoint = read_checkpoint(MemorySource({"f": packed(tensors, b"abcdefgh")}), "f")
    assert {name: value.data for name, value in checkpoint.read(list(spans)).items()} == {
        "x": b"",
        "a": b"abcd",
        "z": b"",
        "b": b"efgh",
        "y": b"",
    }


@pytest.mark.parametrize(
    "data", [b"", b"<!DOCTYPE html>", b"version https://git-lfs.github.com/spec/v1\nsize 12\n", b"GGUF\3\0\0\0"]
)
def test_impostors_are_called_what_they_are(data):
    assert not recognises(data)
    assert refusal(data).startswith("f: expected a safetensors file, found ")


def test_a_header_of_640_bytes_is_not_taken_for_a_pickle():
    header = json.dumps(ONE).encode().ljust(640)
    data = packed(header, bytes(8))
    assert data.startswith(b"\x80\x02")
    assert read_checkpoint(MemorySource({"f": data}), "f").tensors == {"a": TensorInfo("a", "F32", (2,), 8)}


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"x":[' + b"[]," * 6_000_000 + b"[]]}}",
        b'{"' + "\U0001f600".encode() + b"a" * 19_000_000 + b'":1}',
        b'{"a":' * 3_900_000,
        b'{"a":{"x":' + b"[" * 60_000 + b"]" * 5 + b"}}",
        b'{"__metadata__":{' + b'"":"",' * 3_000_000 + b"}}",
        b'{"a":' + b"9" * 19_000_000 + b"}",
        b'{"a":{"dtype":"F32","shape":[' + b"9" * 60_000 + b'],"data_offsets":[0,4]}}',
        b" " * 19_000_000,
    ],
    ids=["arrays", "one astral letter", "objects", "depth", "metadata", "a number", "digits", "spaces"],
)
def test_a_hostile_header_of_20_mb_is_refused_within_100_mb(header):
    source = MemorySource({"f": packed(header)})
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read_header(source, "f")
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
