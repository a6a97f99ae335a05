import io
import os

import pytest

from ln_audit.errors import RecordingError, SourceError
from ln_audit.recording.files import RecordedFile, as_recording_fault


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(100)))
    return RecordedFile(str(path))


def test_bytes_are_read_by_range(file):
    assert (file.size, file.read(3, 6), file.read(7, 7)) == (100, b"\x03\x04\x05", b"")
    assert (file.prefix(2), len(file.prefix(1000))) == (b"\x00\x01", 100)


@pytest.mark.parametrize("name", ["missing.npy", ".", "x\0y"])
def test_what_is_no_file_is_a_recording_error(tmp_path, name):
    with pytest.raises(RecordingError):
        RecordedFile(str(tmp_path / name))


def test_a_folder_is_called_one(tmp_path):
    with pytest.raises(RecordingError) as error:
        RecordedFile(str(tmp_path))
    assert error.value.message.endswith(": expected a file, found a folder")


def test_a_read_past_the_end_is_a_recording_error(file):
    with pytest.raises(RecordingError):
        file.read(90, 101)


def test_a_file_that_changes_between_two_reads_is_a_recording_error(file, tmp_path):
    file.read(0, 10)
    (tmp_path / "a.bin").write_bytes(bytes(200))
    os.utime(tmp_path / "a.bin", ns=(1, 1))
    with pytest.raises(RecordingError, match="changed"):
        file.read(0, 10)


def test_other_faults_keep_message_and_hint():
    with pytest.raises(RecordingError) as error, as_recording_fault():
        raise SourceError("m", hint="h")
    assert (error.value.message, error.value.hint) == ("m", "h")


def test_a_recording_error_passes_unchanged():
    fault = RecordingError("m")
    with pytest.raises(RecordingError) as error, as_recording_fault():
        raise fault
    assert error.value is fault


def test_the_file_object_seeks_and_reads_like_one(file):
    stream = file.seekable_file()
    assert (stream.readable(), stream.seekable(), stream.tell()) == (True, True, 0)
    assert stream.read(3) == b"\x00\x01\x02"
    assert stream.seek(-2, io.SEEK_END) == 98
    assert stream.read() == b"\x62\x63"
    assert stream.read(5) == b""
    assert stream.seek(10) == 10
    assert stream.seek(5, io.SEEK_CUR) == 15
    assert stream.read(1) == b"\x0f"
    assert stream.seek(500) == 500
    assert stream.read(1) == b""
    with pytest.raises(OSError, match="seek before the beginning"):
        stream.seek(-1)


def test_a_read_that_only_a_forged_directory_asks_for_is_refused(tmp_path):
    path = tmp_path / "big.zip"
    with path.open("wb") as sparse:
        sparse.truncate(2**23)
    stream = RecordedFile(str(path)).seekable_file()
    assert len(stream.read(2**22)) == 2**22
    stream.seek(0)
    with pytest.raises(RecordingError, match="expected a zip directory of 4 MB at most, found 8,388,608 bytes"):
        stream.read()
