import io
import random
import struct
import zipfile

import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import zip_archive
from ln_audit.formats.zip_archive import Archive, open_archive
from tests.formats.memory_source import MemorySource

CONTENT = {"a.npy": b"alpha" * 9, "folder/b": b"", "long": random.Random(1).randbytes(3_000), "ü": b"umlaut"}


def zipped(content=CONTENT, method=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return out.getvalue()


STORED, DEFLATED = zipped(), zipped(method=zipfile.ZIP_DEFLATED)
each_method = pytest.mark.parametrize("data", [STORED, DEFLATED], ids=["stored", "deflated"])


def _open(data: bytes) -> Archive:
    return open_archive(MemorySource({"m.zip": data}), "m.zip", "an archive")


def _all(data: bytes) -> dict[str, bytes]:
    archive = _open(data)
    return dict(zip(archive.members, archive.contents(list(archive.members.values())), strict=True))


@each_method
def test_every_member_comes_back_whole(data):
    assert _all(data) == CONTENT


@each_method
def test_the_first_bytes_of_every_member(data):
    archive = _open(data)
    assert archive.prefixes(list(archive.members.values()), 7) == [content[:7] for content in CONTENT.values()]


def test_a_stored_member_lies_where_its_range_says():
    archive = _open(STORED)
    begin, end = archive.data_range(archive.members["long"])
    assert STORED[begin:end] == CONTENT["long"]
    with pytest.raises(UnsupportedError, match="^m.zip: 'long': expected it stored, found it compressed$"):
        _open(DEFLATED).data_range(_open(DEFLATED).members["long"])


def test_directory_and_contents_cost_two_reads():
    source = MemorySource({"m.zip": STORED})
    archive = open_archive(source, "m.zip", "an archive")
    assert source.reads == [("m.zip", (Range(0, len(STORED)),))]
    archive.contents([archive.members["long"]])
    assert len(source.reads) == 2


def test_more_between_header_and_data_than_usual_costs_one_read_more():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("padded")
        info.extra = struct.pack("<HH", 0x4650, 500) + bytes(500)  # PyTorch aligns so
        archive.writestr(info, b"x" * 900)
    assert _all(out.getvalue()) == {"padded": b"x" * 900}


def test_zip64_is_read():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("big", "w", force_zip64=True) as member:
        member.write(b"content")
    assert _all(out.getvalue()) == {"big": b"content"}


@each_method
def test_an_archive_cut_anywhere_is_refused(data):
    for length in range(len(data)):
        with pytest.raises(FormatError):
            _open(data[:length])


@each_method
def test_a_flipped_byte_anywhere_is_refused_or_changes_nothing(data):
    refused = 0
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x21
        try:
            found = _all(bytes(damaged))
        except FormatError:
            refused += 1
        else:
            assert list(found.values()) == list(CONTENT.values())
    assert refused > len(data) * 0.8  # dates, versions and attributes are free


@pytest.mark.parametrize(
    "data", [STORED + b"\0", b"\0" + STORED, b"", b"PK\5\6"], ids=["behind", "before", "none", "cut"]
)
def test_bytes_that_belong_to_no_member_are_refused(data):
    with pytest.raises(FormatError):
        _open(data)


def test_two_members_of_one_name_are_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("data.pkl", b"good")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("data.pkl", b"evil")
    with pytest.raises(FormatError, match="^m.zip: 'data.pkl': expected one member of that name, found two$"):
        _open(out.getvalue())


def test_members_that_lie_over_each_other_are_refused():
    """The trick of the zip bomb that grows by 28 million times: https://www.bamsoftware.com/hacks/zipbomb/"""
    first = zipped({"a": b"0" * 50, "b": b"1" * 50})
    directory = first.index(b"PK\1\2")
    second = first.index(b"PK\1\2", directory + 1)
    forged = first[: second + 42] + (0).to_bytes(4, "little") + first[second + 46 :]
    with pytest.raises(FormatError, match="^m.zip: 'b': expected a member at byte 81, found it at 0$"):
        _open(forged)


def test_a_name_that_differs_between_header_and_directory_is_refused():
    with pytest.raises(
        FormatError, match=r"^m.zip: 'a.npy': expected its header at byte 0, found b'PK\\x03\\x04' and b'b.npy'$"
    ):
        _all(STORED.replace(b"a.npy", b"b.npy", 1))


def test_a_compressed_member_that_would_fill_the_memory_is_refused_unread():
    bomb = zipped({"w.npy": bytes(zip_archive.MAX_INFLATED + 1)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 200_000
    archive = _open(bomb)
    with pytest.raises(
        UnsupportedError, match="expected at most 134,217,728 bytes of compressed members, found 134,217,729"
    ):
        archive.contents(list(archive.members.values()))


def test_a_member_that_grows_beyond_what_it_declares_is_refused():
    data = bytearray(zipped({"w": bytes(100_000)}, zipfile.ZIP_DEFLATED))
    size = data.index(b"PK\1\2") + 24
    data[size : size + 4] = (50).to_bytes(4, "little")
    with pytest.raises(FormatError, match="^m.zip: 'w': expected 50 bytes with CRC-32 0x[0-9a-f]{8}, found 51 with"):
        _all(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_nobody_uses_for_weights_are_refused(method):
    with pytest.raises(
        UnsupportedError, match=f"^m.zip: 'a.npy': expected it stored or deflated, found method {method}$"
    ):
        _open(zipped(method=method))


def test_an_encrypted_member_is_refused():
    data = bytearray(zipped({"w": b"secret"}))
    data[data.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(UnsupportedError, match="^m.zip: 'w': expected it stored or deflated, found it encrypted$"):
        _open(bytes(data))


def test_a_forged_directory_of_any_size_is_refused_before_it_is_read():
    size = 50_000_000
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, size - 22, 0, 0)
    with pytest.raises(UnsupportedError, match="expected a zip directory of 4,194,304 bytes at most, found 49,999,978"):
        _open(bytes(size - 22) + end)


def test_more_members_than_any_checkpoint_has_are_refused(monkeypatch):
    monkeypatch.setattr(zip_archive, "MAX_MEMBERS", 3)
    with pytest.raises(UnsupportedError, match="^m.zip: expected at most 3 members, found 4$"):
        _open(STORED)
