"""Data under a checkpoint's suffix is told by its content; what cannot be told is a checkpoint."""

import os
import zipfile

import h5py
import numpy as np
import pytest

from ln_audit.hooks.data import beginning, is_data
from tests.formats import torch_files

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 548105171\n"
ZEROS = np.zeros(2, np.float32)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(name: str, **shape: object) -> str:
    """An HDF5 file of measurements."""
    with h5py.File(name, "w", **({"libver": "latest"} if shape.pop("new", False) else {})) as file:
        file.create_dataset("run/temperature", data=np.arange(4000.0), **shape)
        file["run"].attrs["unit"] = "kelvin"
    return name


@pytest.mark.parametrize("shape", [{}, {"chunks": (100,), "compression": "gzip"}, {"new": True}])
@pytest.mark.parametrize("name", ["a.h5", "a.HDF5", "a.H5"])
def test_measurements_are_data_however_they_are_stored(name, shape):
    assert is_data(measured(name, **shape))


@pytest.mark.parametrize(
    "path", ["layers/dense/vars/0", "_layer_checkpoint_dependencies/dense/vars/0", "layer_normalization_1/gamma:0"]
)
@pytest.mark.parametrize("name", ["a.h5", "A.H5"])
def test_what_keras_wrote_is_none(name, path):
    with h5py.File(name, "w") as file:
        file[path] = ZEROS
    assert not is_data(name)


def test_what_says_keras_far_inside_is_none(here):
    (here / "a.h5").write_bytes(b"\0" * (2**22 - 5) + b"keras_version")
    assert not is_data("a.h5")


def test_archives_are_checkpoints_where_an_array_is_called_like_a_norms(here):
    np.savez("data.npz", x=ZEROS, labels=ZEROS)
    np.savez("gpt2.npz", **{"h.0.ln_1.weight": ZEROS})  # type: ignore[arg-type]
    np.savez_compressed("PACKED.NPZ", **{"final_norm.scale": ZEROS})  # type: ignore[arg-type]
    with zipfile.ZipFile("torn.npz", "w") as archive:
        archive.writestr("x.npy", b"no array")
    assert [is_data(each) for each in ("data.npz", "gpt2.npz", "PACKED.NPZ", "torn.npz")] == [True, False, False, False]


def test_arrays_by_themselves_are_told_by_their_name(here):
    for name in ("features.npy", "transformer.ln_f.weight.npy", "Model.NORM.weight.NPY"):
        np.save(here / "x.npy", ZEROS)
        (here / "x.npy").rename(here / name)
    found = [is_data(name) for name in ("features.npy", "transformer.ln_f.weight.npy", "Model.NORM.weight.NPY")]
    assert found == [True, False, False]


@pytest.mark.parametrize(
    ("name", "content", "data"),
    [
        ("tokens.bin", bytes(range(200)), True),
        ("TOKENS.BIN", bytes(range(200)), True),
        ("weights.BIN", torch_files.save(torch_files.tensors({"a": ZEROS})), False),
        ("pytorch_model.bin", bytes(range(200)), False),
        ("PyTorch_Model-00001-of-00002.bin", bytes(range(200)), False),
        ("search.index", b"words", True),
        ("model.ckpt.index", b"\0\0\x08\x08\x01\x1a\x02", False),
        ("tf_model.h5", b"torn", False),
        ("x.weights.h5", b"torn", False),
        ("weights.npz", b"torn", False),
        ("rows.msgpack", b"\x81\xa1a\x01", True),
        ("flax_model.msgpack", b"\x81\xa1a\x01", False),
        ("model_state.pdparams", b"x", False),
        ("x.safetensors", b"anything", False),
        ("X.ONNX", b"anything", False),
        ("rows.h5", POINTER, False),
        ("rows.npz", POINTER, False),
        ("rows.npy", b"", False),
    ],
)
def test_what_a_loader_asks_for_and_what_is_still_to_be_fetched_is_no_data(here, name, content, data):
    (here / name).write_bytes(content)
    assert is_data(name) == data


def test_what_cannot_be_read_is_no_data(here):
    assert not is_data("gone.h5")
    assert beginning("gone.h5", 4) is None
    assert beginning("a\0b", 4) is None
    assert beginning(measured("a.h5"), 4) == b"\x89HDF"


def test_a_pipe_is_not_waited_for(here):
    os.mkfifo("x.bin")
    assert (beginning("x.bin", 4), is_data("x.bin")) == (None, False)
