"""One pinned file on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources.disk_file import DiskFile, is_special


def refusal(path):
    with pytest.raises(SourceError) as error:
        DiskFile(path, "f").read([Range(0, 1)])
    return error.value.message


def test_ranges_come_in_order_and_are_counted(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(range(100)))
    file = DiskFile(path, "f")
    assert file.read([Range(90, 100), Range(0, 3), Range(5, 5)]) == [bytes(range(90, 100)), b"\0\1\2", b""]
    assert file.prefix(2) == b"\0\1"
    assert file.prefix(1000) == bytes(range(100))
    assert (file.size(), file.known_size, file.bytes_read) == (100, 100, 115)
    assert DiskFile(path, "f").known_size is None


def test_a_range_behind_the_end_is_refused(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert refusal(tmp_path / "f") == "f: bytes 0 to 1: expected a file at least that long, found 0 bytes"


def test_a_file_kept_open_fills_ones_own_buffers_and_is_counted(tmp_path):
    (tmp_path / "f").write_bytes(bytes(range(100)))
    file = DiskFile(tmp_path / "f", "f")
    buffer = memoryview(bytearray(5))
    with file.kept_open() as fill:
        fill(90, buffer)
        assert bytes(buffer) == bytes(range(90, 95))
        fill(0, buffer[:2])
        assert bytes(buffer) == bytes([0, 1, 92, 93, 94])
        with pytest.raises(SourceError, match=r"^f: bytes 96 to 101: expected a file at least that long"):
            fill(96, buffer)
    assert file.bytes_read == 7


def test_a_file_that_changes_while_it_is_kept_open_is_an_error(tmp_path):
    (tmp_path / "f").write_bytes(bytes(100))

    def read_while_it_is_cut():
        with DiskFile(tmp_path / "f", "f").kept_open() as fill:
            fill(0, memoryview(bytearray(5)))
            os.truncate(tmp_path / "f", 50)
            fill(48, memoryview(bytearray(5)))

    with pytest.raises(SourceError, match="cut while being read|found the file changed"):
        read_while_it_is_cut()


@pytest.mark.parametrize("change", [b"grown longer", b"same"])
def test_a_file_that_changes_between_two_reads_is_an_error(tmp_path, change):
    path = tmp_path / "f"
    path.write_bytes(b"once")
    file = DiskFile(path, "f")
    file.read([Range(0, 4)])
    path.write_bytes(change)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match=r"^f: expected the version first read") as error:
        file.read([Range(0, 4)])
    assert error.value.message == (
        f"f: expected the version first read (4 bytes), found the file changed ({len(change)} bytes): "
        "nothing is reported from a mixture"
    )


def test_a_file_put_in_the_place_of_another_is_an_error(tmp_path):
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_bytes(b"once")
    other.write_bytes(b"then")
    same_time = path.stat().st_mtime_ns
    file = DiskFile(path, "f")
    assert file.size() == 4
    os.utime(other, ns=(same_time, same_time))
    other.replace(path)
    with pytest.raises(SourceError, match="found the file changed"):
        file.size()


def test_what_is_no_regular_file_is_named_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tmp_path / "socket"))
        assert refusal(tmp_path / "socket") == "f: expected a regular file, found a socket"
    assert refusal(tmp_path / "pipe") == "f: expected a regular file, found a named pipe"
    assert refusal(tmp_path) == "f: expected a regular file, found a folder"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_is_refused():
    assert refusal(Path("/dev/zero")) == "f: expected a regular file, found a character device"


def test_a_dangling_link_names_its_target(tmp_path):
    (tmp_path / "link").symlink_to("../blobs/gone")
    assert refusal(tmp_path / "link") == "f: expected a file, found a dangling link -> ../blobs/gone"


def test_links_in_a_circle_are_named(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert refusal(tmp_path / "a") == "f: expected a file, found links that lead in a circle"


def test_a_missing_file_is_named(tmp_path):
    assert refusal(tmp_path / "none") == "f: expected a file, found no such file or folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_named(tmp_path):
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "f").chmod(0)
    assert refusal(tmp_path / "f") == "f: expected a readable file, found permission denied"


def test_other_refusals_of_the_system_are_repeated(tmp_path):
    assert refusal(tmp_path / ("n" * 300)) == "f: expected a readable file, found file name too long"


def test_what_is_neither_a_file_nor_a_folder_is_special(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    assert [is_special(str(tmp_path / name)) for name in ("file", "pipe", "none", ".", "no\0ne")] == [
        False, True, False, False, False,
    ]  # fmt: skip
