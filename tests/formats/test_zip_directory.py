from __future__ import annotations

import io
import struct
import zipfile
import zlib

import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import zip_directory
from ln_audit.formats.zip_directory import MAX_MEMBERS, Held, Member, read_directory
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import archive
from tests.formats.zip_bytes import CONTENT, directory, opened, patched, refusal


def test_a_directory_longer_than_the_tail_is_read_by_itself():
    content = {f"a/{'n' * 200}{number}": b"" for number in range(400)}
    source = MemorySource({"f": archive(content)})
    assert list(read_directory(Held(source, "f", b""))) == list(content)
    assert len(source.reads) == 2


def test_held_pieces_are_read_from_memory_and_the_rest_in_one_go():
    source = MemorySource({"f": bytes(range(100))})
    held = Held(source, "f", bytes(range(10)))
    assert held.tail(20) == bytes(range(80, 100))
    ranges = [Range(2, 5), Range(5, 12), Range(90, 100), Range(50, 52), Range(0, 0)]
    assert held.read(ranges) == [bytes(range(begin, end)) for begin, end in ranges]
    assert [asked for _, asked in source.reads] == [(Range(80, 100),), (Range(5, 12), Range(50, 52))]


def test_an_archive_of_64_bit_sizes_is_read():
    """As zipfile writes it to a stream that it cannot seek in, and PyTorch always: sizes and places in extra fields."""
    data = archive({"a": b"abc", "b": bytes(range(50))})
    at = directory(data)
    wide = b""
    for name, content, offset in (("a", b"abc", 0), ("b", bytes(range(50)), 34)):
        extra = struct.pack("<HHLHHQQQ", 0x7075, 4, 0, 1, 24, len(content), len(content), offset)
        numbers = (zlib.crc32(content), 2**32 - 1, 2**32 - 1, 1, len(extra), 0, 0, 0, 0, 2**32 - 1)
        wide += struct.pack("<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 0, 0, 0, *numbers) + name.encode() + extra
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2, 2, len(wide), at)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, at + len(wide), 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0)
    whole = data[:at] + wide + end64 + locator + end
    with zipfile.ZipFile(io.BytesIO(whole)) as theirs:
        assert theirs.read("b") == bytes(range(50))
    assert opened(whole).whole({"a": 100, "b": 50}) == {"a": b"abc", "b": bytes(range(50))}
    assert refusal(whole[:-12] + struct.pack("<HH", 2, 3) + whole[-8:]).startswith("f: zip directory: expected one")
    assert "64-bit end at byte" in refusal(patched(whole, len(whole) - 34, b"\x01"))


def test_an_archive_with_a_comment_is_read():
    file = io.BytesIO(archive(CONTENT))
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.comment = b"PK\5\6 is how an end record begins"
    assert opened(file.getvalue()).members.keys() == CONTENT.keys()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_cut_anywhere_is_refused(method):
    data = archive(CONTENT, method)
    for length in range(len(data)):
        with pytest.raises(FormatError):
            opened(data[:length])


def test_nothing_may_stand_before_or_behind_it():
    data = archive(CONTENT)
    assert refusal(data + b"\0") == "f: expected a zip archive's end record, found none"
    assert refusal(b"\0" + data).startswith("f: zip directory: expected its end at byte")
    moved = io.BytesIO(b"#!/bin/sh\n")
    moved.seek(0, io.SEEK_END)
    with zipfile.ZipFile(moved, "a") as zipped:  # zipfile corrects the offsets then
        zipped.writestr("a", b"b")
    assert refusal(moved.getvalue()) == "f: expected its first member at byte 0, found it at 10"


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "..", "a\\b", "C:\\a"])
def test_a_name_that_leads_out_is_refused(name):
    assert refusal(archive({name: b"abc"})).endswith("expected a name inside the archive, found a path out of it")


def test_two_members_of_one_name_are_refused():
    data = archive({"a/data.pkl": b"1", "b/data.pkl": b"2"}).replace(b"b/data.pkl", b"a/data.pkl")
    assert refusal(data) == "f: 'a/data.pkl': expected one member of that name, found two"


@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (8, b"\x01", "f: 'a': expected a readable member, found an encrypted one"),
        (8, b"\x40", "f: 'a': expected a readable member, found an encrypted one"),
        (10, b"\x0c", "f: 'a': expected a stored or deflated member, found method 12"),
        (20, b"\x04", "f: 'a': expected a member's sizes and place, found [3, 4, 0]"),
        (20, b"\xff\xff\xff\x7f\xff\xff\xff\x7f", "members overlap"),
        (20, b"\xff\xff\xff\xff\xff\xff\xff\xff", "f: 'a': expected a member's sizes and place, found [-1, -1, 0]"),
        (28, b"\x08", "f: zip directory byte 54: expected an entry, found none of 2"),
        (34, b"\x01", "f: 'a': expected a file of this archive, found a part on another disk"),
        (38, b"\x10", "f: 'a': expected a file of this archive, found a folder with content"),
        (42, b"\x01", "f: expected its first member at byte 0, found it at 1"),
        (46, b"\xff", "f: zip directory: expected names in UTF-8, found b'\\xff'"),
        (46, b"\0", "expected a name inside the archive, found a path out of it"),
    ],
)
def test_a_directory_entry_that_says_something_odd_is_refused(at, new, message):
    data = archive({"a": b"abc", "b": b"defg"})
    assert message in refusal(patched(data, directory(data) + at, new))


@pytest.mark.parametrize(
    ("at", "new"), [(-18, b"\x01"), (-16, b"\x01"), (-14, b"\x03"), (-12, b"\x03"), (-10, b"\x01"), (-6, b"\x01")]
)
def test_an_end_record_that_contradicts_the_directory_is_refused(at, new):
    data = archive({"a": b"abc", "b": b"defg"})
    assert refusal(patched(data, len(data) + at, new)).startswith("f: zip directory")


def test_members_inside_each_other_are_refused():
    """The zip bomb without recursion (Fifield 2019): many directory entries over one stretch of data."""
    data = archive({"a": b"abcabc", "b": b"defg"})
    second = directory(data) + 46 + 1
    assert "members overlap" in refusal(patched(data, second + 42, struct.pack("<L", 5)))


def test_too_many_members_are_refused_before_any_is_read(monkeypatch):
    data = archive({"a": b"abc"})
    count = struct.pack("<HH", 2**16 - 1, 2**16 - 1)
    assert refusal(patched(data, len(data) - 14, count)).startswith("f: zip directory byte 47: expected an entry")
    assert MAX_MEMBERS > 2**16
    monkeypatch.setattr(zip_directory, "MAX_MEMBERS", 0)
    with pytest.raises(UnsupportedError, match="expected at most 0 members in 16,000,000 bytes, found 1 in 47"):
        opened(data)


def test_a_member_says_what_the_directory_says():
    assert opened(archive({"a": b"abc", "b": b"defg"})).members == {
        "a": Member("a", 0, 3, 3, zlib.crc32(b"abc"), 0, 34),
        "b": Member("b", 0, 4, 4, zlib.crc32(b"defg"), 34, 69),
    }
