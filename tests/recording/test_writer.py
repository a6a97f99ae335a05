"""A recording is written block by block, in any order of its tensors, and is there whole or not at all."""

import errno
import os

import numpy as np
import pytest
from safetensors import safe_open

from ln_audit.errors import RecordingError, UsageError
from ln_audit.recording import open_recording
from ln_audit.recording.writer import RecordingWriter


def append(writer, name, array, **more):
    names = {"float32": "F32", "int64": "I64", "float16": "F16"}
    writer.append(name, names[array.dtype.name], array.shape, array.tobytes(), **more)


def files(folder):
    return sorted(each.name for each in folder.iterdir())


def read(path):
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_interleaved_blocks_become_whole_tensors(tmp_path):
    rows = (np.arange(5 * 40_000, dtype=np.float32) % 999).reshape(
        5, 40_000
    )  # blocks beyond and below what is gathered
    writer = RecordingWriter(tmp_path / "run.safetensors")
    for row in rows:
        append(writer, "before", row[None])
        append(writer, "after", row[None, :3].astype(np.float16))
        append(writer, "tokens", np.array([int(row[0])]), kept=0)
    size = writer.finish({"norm": "ä"})
    tensors, metadata = read(tmp_path / "run.safetensors")
    assert size == (tmp_path / "run.safetensors").stat().st_size
    assert np.array_equal(tensors["before"], rows)
    assert np.array_equal(tensors["after"], rows[:, :3].astype(np.float16))
    assert tensors["tokens"].tolist() == rows[:, 0].tolist()
    assert metadata == {"norm": "ä"}
    assert files(tmp_path) == ["run.safetensors"]


@pytest.mark.parametrize(
    ("shapes", "whole"),
    [
        ([(2, 3, 4)], (2, 3, 4)),
        ([(2, 3, 4), (1, 3, 4)], (3, 3, 4)),
        ([(2, 3, 4), (1, 2, 4)], (8, 4)),
        ([(4,), (4,)], (2, 4)),
        ([(4,), (5, 4)], (6, 4)),
        ([(1, 3, 4), (1, 1, 4), (1, 1, 4)], (5, 4)),
    ],
)
def test_passes_are_joined_along_the_first_axis_or_as_rows(tmp_path, shapes, whole):
    writer = RecordingWriter(tmp_path / "run.safetensors")
    for at, shape in enumerate(shapes):
        append(writer, "x", np.full(shape, at, np.float32))
    assert (writer.names, writer.shape("x")) == (("x",), whole)
    writer.finish({})
    joined = np.concatenate([np.full(shape, at, np.float32).reshape(-1) for at, shape in enumerate(shapes)])
    assert np.array_equal(read(tmp_path / "run.safetensors")[0]["x"], joined.reshape(whole))


def test_the_reader_reads_it(tmp_path):
    writer = RecordingWriter(tmp_path / "run.safetensors")
    for norm in ("b", "a"):
        for side in ("before", "after"):
            append(writer, f"{norm}/{side}", np.ones((2, 3), np.float32))
    writer.finish({"ln_audit.recording": "1"})
    recording = open_recording(str(tmp_path / "run.safetensors"))
    assert (recording.norms, recording.rows("a").leading) == (("b", "a"), (2,))


def test_another_width_or_dtype_is_refused(tmp_path):
    writer = RecordingWriter(tmp_path / "run.safetensors")
    append(writer, "x", np.ones((2, 3), np.float32))
    with pytest.raises(RecordingError, match=r"x: expected F32 \[3\] as in the pass before, found F32 \[4\]"):
        append(writer, "x", np.ones((2, 4), np.float32))
    with pytest.raises(RecordingError, match=r"x: expected F32 \[3\] as in the pass before, found F16 \[3\]"):
        append(writer, "x", np.ones((2, 3), np.float16))
    writer.discard()
    assert files(tmp_path) == []


def test_what_stood_there_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "run.safetensors"
    path.write_bytes(b"old")
    writer = RecordingWriter(path)
    append(writer, "x", np.ones((2, 3), np.float32))
    writer.discard()
    assert (path.read_bytes(), files(tmp_path)) == (b"old", ["run.safetensors"])
    writer = RecordingWriter(path)
    append(writer, "x", np.ones((2, 3), np.float32))
    writer.finish({})
    assert read(path)[0]["x"].shape == (2, 3)


def test_a_link_keeps_its_place(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    writer = RecordingWriter(tmp_path / "link")
    append(writer, "x", np.ones((1, 1), np.float32))
    writer.finish({})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").is_file()


@pytest.mark.parametrize("name", ["", "no/such/folder/x", "nul\0"])
def test_a_path_that_cannot_be_written_is_a_wrong_call(tmp_path, name):
    with pytest.raises(UsageError, match="expected a file that can be written, found: "):
        RecordingWriter(f"{tmp_path}/{name}")


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    writer = RecordingWriter(tmp_path / "run.safetensors")
    append(writer, "x", np.ones((2, 3), np.float32))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(type(tmp_path), "replace", full)
    with pytest.raises(RecordingError, match=r"expected to write the recording, found: no space left on device"):
        writer.finish({})
    assert files(tmp_path) == []
