"""What every format promises, on one small file that the format's own library wrote."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save

from ln_audit.core import Checkpoint, TensorInfo
from ln_audit.errors import FormatError
from ln_audit.formats import FORMATS, Artifact, Format, find_artifacts, read_checkpoint
from ln_audit.formats.dtypes import DTYPES, array
from tests.formats import torch_files
from tests.formats.gguf_file import of_arrays
from tests.formats.memory_source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

TENSORS: dict[str, np.ndarray] = {
    "transformer.ln_f.weight": np.linspace(0.5, 2, 6, dtype=np.float32),
    "transformer.ln_f.bias": np.linspace(-1, 1, 6, dtype=np.float16),
    "half": np.array([1.5, -0.0, np.inf], dtype=ml_dtypes.bfloat16),
    "counts": np.arange(-2, 4).reshape(2, 3),
    "mask": np.array([[True, False]]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}

# One line per format whose file is one file of tensors in their own dtypes: its name in the registry and how TENSORS are
# written. Archives and graphs are held to the same in tests of their own (test_torch_*, test_npz, test_onnx, test_tf_bundle).
WRITERS: dict[str, Callable[[], bytes]] = {
    "safetensors": cache(lambda: bytes(save(TENSORS))),
    "pytorch": cache(lambda: torch_files.save(torch_files.tensors(TENSORS))),
    "gguf": cache(
        lambda: of_arrays({name: array for name, array in TENSORS.items() if name != "mask"})
    ),  # it has no bool
}

each_format = pytest.mark.parametrize(
    "format_", [each for each in FORMATS if each.NAME in WRITERS], ids=lambda format_: format_.NAME
)


def _open(format_: Format, data: bytes) -> Checkpoint:
    file = f"model{format_.SUFFIXES[0]}"
    (artifact,) = find_artifacts(MemorySource({file: data}))
    assert artifact == Artifact(format_.NAME, file)
    return read_checkpoint(MemorySource({file: data}), artifact)


@each_format
def test_the_tensors_come_back_as_the_formats_own_library_wrote_them(format_):
    checkpoint = _open(format_, WRITERS[format_.NAME]())
    written = {name: array for name, array in TENSORS.items() if format_.NAME != "gguf" or name != "mask"}
    stored = checkpoint.read(list(written))
    assert checkpoint.format == format_.NAME
    assert checkpoint.tensors.keys() == stored.keys() == written.keys()
    for name, wrote in written.items():
        dtype = next(known for known, (_, numpy) in DTYPES.items() if numpy == wrote.dtype.name)
        assert checkpoint.tensors[name] == TensorInfo(name, dtype, wrote.shape, wrote.nbytes)
        read = array(stored[name])
        assert (read.dtype, read.shape, read.tobytes()) == (wrote.dtype, wrote.shape, wrote.tobytes())


@each_format
def test_a_file_cut_at_any_length_is_refused(format_):
    data = WRITERS[format_.NAME]()
    for length in range(len(data)):
        with pytest.raises(FormatError):
            _open(format_, data[:length])


@each_format
def test_a_flipped_byte_anywhere_is_read_or_refused_never_a_crash(format_):
    data = WRITERS[format_.NAME]()
    outcomes = {"read": 0, "refused": 0}
    for position in range(len(data)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            try:
                checkpoint = _open(format_, bytes(damaged))
                for stored in checkpoint.read(list(checkpoint.tensors)).values():
                    array(stored)
                outcomes["read"] += 1
            except FormatError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes  # both happen: data bytes are free, header bytes are not


@each_format
def test_bytes_behind_the_end_are_refused(format_):
    with pytest.raises(FormatError):
        _open(format_, WRITERS[format_.NAME]() + b"\0")


@each_format
def test_recognises_its_own_beginning_and_not_an_empty_one(format_):
    assert format_.reader.recognises(WRITERS[format_.NAME]()[:512])


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.NAME)
def test_no_format_recognises_nothing_or_a_page(format_):
    assert not format_.reader.recognises(b"")
    assert not format_.reader.recognises(b"<!DOCTYPE html><html>")
