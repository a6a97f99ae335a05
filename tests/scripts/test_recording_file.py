"""The recordings that the scripts write: the same bytes each time, and readable by the reference reader."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from scripts.recording_file import value_sha256, write_recording

TENSORS = {
    "before": np.arange(6, dtype="f4").reshape(1, 2, 3),
    "after": -np.arange(6, dtype="f4").reshape(1, 2, 3),
    "tokens": np.array([[1, 2]]),
}
METADATA = {"ln_audit.recording": "1", "note": "ein Übungssatz", "eps": "1e-05", "model": "m"}


def test_the_reference_reader_gives_back_what_was_written(tmp_path: Path):
    file = tmp_path / "new folder" / "r.safetensors"
    assert write_recording(file, TENSORS, METADATA) == file.stat().st_size
    with safe_open(file, "numpy") as read:
        assert read.metadata() == METADATA
    found = load_file(file)
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in TENSORS.items()
    }


def test_the_bytes_depend_on_the_content_only(tmp_path: Path):
    write_recording(tmp_path / "a", TENSORS, METADATA)
    write_recording(tmp_path / "b", dict(reversed(TENSORS.items())), dict(reversed(METADATA.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_every_tensor_starts_at_a_multiple_of_its_element_size(tmp_path: Path):
    write_recording(tmp_path / "r", {"a": np.zeros(1, "f4"), "z": np.zeros(1, "i8")}, {})
    data = (tmp_path / "r").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert (8 + length) % 8 == 0
    assert (header["z"]["data_offsets"], header["a"]["data_offsets"]) == ([0, 8], [8, 12])


def test_the_value_digest_is_over_little_endian_float32_and_keeps_minus_zero():
    stored = b"\x00\x00\x80\x3f" + b"\x00\x00\x00\x80"  # 1, −0
    assert value_sha256(np.array([1.0, -0.0], ">f8")) == hashlib.sha256(stored).hexdigest()


def test_a_gain_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="expected finite values"):
        value_sha256(np.array([np.nan], "f4"))
