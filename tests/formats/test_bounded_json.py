from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.bounded_json import MAX_COMMAS, MAX_CONTAINERS, Members, parse_object, read_object
from tests.formats.memory_source import MemorySource


def parse(data: bytes) -> list:
    return parse_object(data, "c.json", size=len(data), at_most=1_000_000, what="a config")


def test_members_keep_order_and_repetition():
    members = parse(b'{"b":1,"a":{"x":2},"b":[{}]}')
    assert members == [("b", 1), ("a", [("x", 2)]), ("b", [[]])]
    assert isinstance(members[1][1], Members)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "c.json: expected a config, found an empty file (0 bytes)"),
        (b"<html>", "c.json: expected a config, found an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 7\n",
         "c.json: expected a config, found a Git LFS pointer to a file of 7 bytes"),
        (b'{"a":\n}', "c.json: line 2 column 1: expected JSON, found: expecting value"),
        (b"{} {}", "c.json: line 1 column 4: expected JSON, found: extra data"),
        (b"\xef\xbb\xbf{}", "c.json: line 1 column 1: expected JSON, found: unexpected UTF-8 BOM (decode using utf-8-sig)"),
        (b'{"\xff":1}', "c.json: byte 2: expected UTF-8, found 0xff"),
        (b"[1]", "c.json: expected a config, a JSON object, found [1]"),
        (b'"x"', "c.json: expected a config, a JSON object, found 'x'"),
        (b'{"a":' + b"9" * 5_000 + b"}", "c.json: expected JSON, found a number too long to read"),
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_refused(data, message):
    with pytest.raises(FormatError) as caught:
        parse(data)
    assert caught.value.message == message


def test_depth_is_refused_or_read_but_never_a_crash():
    deep = b'{"a":' + b"[" * (MAX_CONTAINERS - 1) + b"]" * (MAX_CONTAINERS - 1) + b"}"
    with pytest.raises(FormatError, match=r"c\.json: expected JSON, found it nested too deeply"):
        parse(deep)


def test_size_and_number_of_containers_are_bounded():
    with pytest.raises(UnsupportedError, match="expected at most 100,000 objects and arrays, found more"):
        parse(b'{"a":[' + b"[]," * MAX_CONTAINERS + b"[]]}")
    with pytest.raises(UnsupportedError, match="expected at most 262,144 members and elements, found more"):
        parse(b'{"a":[' + b"1," * (MAX_COMMAS + 1) + b"1]}")
    assert len(parse(b'{"a":[' + b"1," * MAX_COMMAS + b"1]}")[0][1]) == MAX_COMMAS + 1
    assert parse(b"{}".ljust(1_000_000)) == []
    source = MemorySource({"c.json": b"{}" + b" " * 100})
    with pytest.raises(UnsupportedError, match=r"c\.json: size: expected at most 50 bytes, found 102"):
        read_object(source, "c.json", at_most=50, what="a config")
    assert source.reads[0][1][0].end == 51  # no more than that is read to find out
