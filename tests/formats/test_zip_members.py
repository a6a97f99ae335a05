from __future__ import annotations

import struct
import zipfile
import zlib

import pytest

from ln_audit.core import Range
from ln_audit.errors import UnsupportedError
from ln_audit.formats.zip_members import open_archive
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import archive
from tests.formats.zip_bytes import CONTENT, directory, opened, patched, refusal


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_whole_and_by_range(method):
    it = opened(archive(CONTENT, method))
    assert it.whole(dict.fromkeys(it.members, 1_000)) == CONTENT
    wanted = [(it.members["a/data/0"], Range(10, 20)), (it.members["a/data.pkl"], Range(4, 10))]
    assert it.read(wanted, 1_000) == [bytes(range(10, 20)), b"pickle"]


def test_only_the_directory_the_local_headers_and_the_ranges_are_read():
    data = archive({"a/data.pkl": b"x", "a/data/0": bytes(200_000), "a/data/1": bytes(200_000)})
    source = MemorySource({"f": data})
    it = open_archive(source, "f")
    it.read([(it.members["a/data/0"], Range(50, 60))], 0)
    it.read([(it.members["a/data/0"], Range(70, 80))], 0)
    begin = it.members["a/data/0"].offset
    start = begin + 30 + len("a/data/0")
    tail = len(data) - 65_535 - 22 - 20 - 56
    assert [ranges for _, ranges in source.reads] == [
        (Range(tail, len(data)),),
        (Range(begin, start),),
        (Range(start + 50, start + 60),),
        (Range(start + 70, start + 80),),
    ]


def test_what_has_been_read_already_is_not_asked_for_again():
    data = archive(CONTENT)
    source = MemorySource({"f": data})
    assert open_archive(source, "f", data).whole(dict.fromkeys(CONTENT, 1_000)) == CONTENT
    assert source.reads == []


def test_damaged_content_is_told_by_its_checksum():
    data = archive({"a": b"abc"})
    assert refusal(patched(data, 31, b"X")) == (
        f"f: 'a': expected CRC-32 {zlib.crc32(b'abc'):08x} as written in the directory, found "
        f"{zlib.crc32(b'Xbc'):08x}: it differs"
    )


def test_a_checksum_of_0_says_that_there_is_none():
    data = archive({"a": b"abc"})
    assert opened(patched(data, directory(data) + 16, bytes(4))).whole({"a": 3}) == {"a": b"abc"}


@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (0, b"PK\3\5", "f: 'a': expected its local header, found 'PK\\x03\\x05'"),
        (6, b"\x01", "f: 'a': expected method 0 in its local header, found 0, flags 0x1"),
        (8, b"\x08", "f: 'a': expected method 0 in its local header, found 8, flags 0x0"),
        (18, b"\x04", "f: 'a': expected sizes 3 and 3, found 4 and 3"),
        (26, b"\x02", "f: 'a': expected the same name in its local header, found another"),
        (28, b"\xff", "f: 'a': expected its end before byte 34, found 289"),
        (30, b"z", "f: 'a': expected the same name in its local header, found another"),
    ],
)
def test_a_local_header_that_contradicts_the_directory_is_refused(at, new, message):
    assert refusal(patched(archive({"a": b"abc", "b": b"defg"}), at, new)) == message


def test_a_deflated_bomb_is_refused_before_it_is_unpacked():
    data = archive({"a": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    assert len(data) < 100_000
    it = opened(data)
    message = "f: 'a': expected at most 1,000,000 bytes, found 50,000,000"
    with pytest.raises(UnsupportedError, match=message):
        it.whole({"a": 1_000_000})
    with pytest.raises(UnsupportedError, match="bytes to unpack at a time, found 50,000,000 in 1 members"):
        it.read([(it.members["a"], Range(0, 1))], 1_000_000)


def test_a_deflated_bomb_that_lies_about_its_size_gives_no_more_than_it_says():
    data = archive({"a": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    lied = patched(patched(data, directory(data) + 24, struct.pack("<L", 1_000)), 22, struct.pack("<L", 1_000))
    assert refusal(lied) == "f: 'a': expected 1,000 unpacked bytes, found 1,001, no end"


def test_deflated_data_that_ends_early_or_is_none_is_refused():
    data = archive({"a": b"abc" * 100}, zipfile.ZIP_DEFLATED)
    longer = patched(patched(data, directory(data) + 24, struct.pack("<L", 301)), 22, struct.pack("<L", 301))
    assert refusal(longer) == "f: 'a': expected 301 unpacked bytes, found 300, end"
    assert refusal(patched(data, 31, b"\xff")).startswith("f: 'a': expected deflated data, found Error -3")


def test_a_member_is_placed_if_it_is_stored():
    data = archive({"a": b"abc"})
    assert opened(data).place("a") == 31
    with pytest.raises(UnsupportedError, match="expected a stored member, found a deflated one"):
        opened(archive({"a": b"abc"}, zipfile.ZIP_DEFLATED)).place("a")
