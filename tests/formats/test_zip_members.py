from __future__ import annotations

import io
import struct
import zipfile
import zlib

import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import zip_members
from ln_audit.formats.zip_members import MAX_MEMBERS, Archive, Member, open_archive
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import archive

CONTENT = {"a/data.pkl": b"the pickle", "a/data/0": bytes(range(100)), "a/empty": b"", "a/\u017c": b"z"}


def opened(data: bytes) -> Archive:
    return open_archive(MemorySource({"f": data}), "f")


def first(data: bytes) -> bytes:
    """The content of the first member."""
    it = opened(data)
    name = next(iter(it.members))
    return it.whole({name: 10**6})[name]


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        first(data)
    return caught.value.message


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def directory(data: bytes) -> int:
    """Where the directory of an archive that zipfile wrote begins."""
    return int.from_bytes(data[-6:-2], "little")


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
        (),
        (Range(start + 70, start + 80),),
    ]


def test_a_directory_longer_than_the_tail_is_read_by_itself():
    content = {f"a/{'n' * 200}{number}": b"" for number in range(400)}
    it = opened(archive(content))
    assert list(it.members) == list(content)
    assert len(it.source.reads) == 2  # type: ignore[attr-defined]


def test_an_archive_of_64_bit_sizes_is_read():
    """As zipfile writes it to a stream that it cannot seek in, and PyTorch always: sizes and places in extra fields."""
    data = archive({"a": b"abc", "b": bytes(range(50))})
    at = directory(data)
    wide = b""
    for name, content, offset in (("a", b"abc", 0), ("b", bytes(range(50)), 34)):
        extra = struct.pack("<HHQQQ", 1, 24, len(content), len(content), offset)
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


def test_damaged_content_is_told_by_its_checksum():
    data = archive({"a": b"abc"})
    assert refusal(patched(data, 31, b"X")) == (
        f"f: 'a': expected CRC-32 {zlib.crc32(b'abc'):08x} as written in the directory, found "
        f"{zlib.crc32(b'Xbc'):08x}: it differs"
    )


def test_a_checksum_of_0_says_that_there_is_none():
    data = archive({"a": b"abc"})
    assert opened(patched(data, directory(data) + 16, bytes(4))).whole({"a": 3}) == {"a": b"abc"}


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


def test_too_many_members_are_refused_before_any_is_read():
    data = archive({"a": b"abc"})
    count = struct.pack("<HH", 2**16 - 1, 2**16 - 1)
    assert refusal(patched(data, len(data) - 14, count)).startswith("f: zip directory byte 47: expected an entry")
    assert MAX_MEMBERS > 2**16


def test_a_member_is_placed_if_it_is_stored(monkeypatch):
    data = archive({"a": b"abc"})
    assert opened(data).place("a") == 31
    with pytest.raises(UnsupportedError, match="expected a stored member, found a deflated one"):
        opened(archive({"a": b"abc"}, zipfile.ZIP_DEFLATED)).place("a")
    monkeypatch.setattr(zip_members, "MAX_MEMBERS", 0)
    with pytest.raises(UnsupportedError, match="expected at most 0 members in 16,000,000 bytes, found 1 in 47"):
        opened(data)


def test_a_member_says_what_the_directory_says():
    assert opened(archive({"a": b"abc", "b": b"defg"})).members == {
        "a": Member("a", 0, 3, 3, zlib.crc32(b"abc"), 0, 34),
        "b": Member("b", 0, 4, 4, zlib.crc32(b"defg"), 34, 69),
    }
