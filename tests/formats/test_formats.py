from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

from ln_audit.errors import FormatError, SourceError, UnsupportedError
from ln_audit.formats import Artifact, find_artifacts, read_checkpoint
from tests.formats import torch_files
from tests.formats.memory_source import MemorySource, folder
from tests.formats.shared import shared

WEIGHTS = bytes(save({"w": np.ones(2, np.float32)}))
INDEX = "model.safetensors.index.json"
SHARD = "model-00001-of-00002.safetensors"
LFS = b"version https://git-lfs.github.com/spec/v1\nsize 1625270765\n"


def test_a_repository_with_the_first_file_is_neither_listed_nor_asked_twice():
    source = MemorySource({"model.safetensors": WEIGHTS, "pytorch_model.bin": b"x"}, kind="hub")
    assert find_artifacts(source) == (Artifact("safetensors", "model.safetensors"),)
    assert source.asked == ["model.safetensors"]


def test_a_sharded_repository_is_not_listed():
    source = MemorySource({INDEX: b"{}"}, kind="hub")
    assert find_artifacts(source) == (Artifact("safetensors", INDEX),)
    assert source.asked == ["model.safetensors", INDEX]


def test_a_repository_with_neither_is_listed():
    source = MemorySource({"other.safetensors": WEIGHTS}, kind="hub")
    assert find_artifacts(source) == (Artifact("safetensors", "other.safetensors"),)
    bins = ["pytorch_model.bin", "pytorch_model.bin.index.json"]
    assert source.asked == ["model.safetensors", INDEX, *bins, "files()"]


def test_a_local_folder_tells_what_lies_beside():
    source = MemorySource({"model.safetensors": WEIGHTS, "pytorch_model.bin": b"x", "config.json": b"{}"})
    (artifact,) = find_artifacts(source)
    assert artifact == Artifact("safetensors", "model.safetensors", ("pytorch_model.bin",))
    assert read_checkpoint(source, artifact).beside == ("pytorch_model.bin",)


def test_shards_that_were_read_do_not_lie_beside():
    odd = {
        "part.safetensors": WEIGHTS,
        "rest.safetensors": WEIGHTS,
        INDEX: json.dumps({"weight_map": {"w": "part.safetensors"}}).encode(),
    }
    source = MemorySource(odd)
    (artifact,) = find_artifacts(source)
    checkpoint = read_checkpoint(source, artifact)
    assert (checkpoint.files, checkpoint.beside) == ((INDEX, "part.safetensors"), ("rest.safetensors",))


def test_several_whole_files_are_an_artifact_each():
    source = MemorySource({"b.safetensors": WEIGHTS, "a.safetensors": WEIGHTS})
    assert find_artifacts(source) == (
        Artifact("safetensors", "a.safetensors"),
        Artifact("safetensors", "b.safetensors"),
    )


@pytest.mark.parametrize(
    "lone",
    ["model.fp16.safetensors", "other.safetensors", "consolidated.safetensors", "model-00001-of-00002.safetensors"],
)
@pytest.mark.parametrize("asked_for", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_a_name_that_loaders_ask_for_goes_before_any_lone_file(lone, asked_for):
    source = MemorySource({lone: WEIGHTS, asked_for: b"x"})
    assert find_artifacts(source) == (Artifact("pytorch", asked_for, (lone,)),)
    assert source.reads == []


TORCH = torch_files.save(torch_files.tensors({"w": np.ones(2, np.float32)}))
LEGACY = torch_files.save_legacy(torch_files.tensors({"w": np.ones(2, np.float32)}))
TOKENS = b"\1\0" * 64
ONNX = b"\x08\x08\x3a\0"


@pytest.mark.parametrize(
    ("files", "format_", "taken", "beside"),
    [
        ({"ckpt.pt": TORCH, "train.bin": TOKENS, "val.bin": TOKENS}, "pytorch", ["ckpt.pt"], ["train.bin", "val.bin"]),
        ({"a.bin": TORCH, "b.bin": LEGACY, "c.bin": bytes(64)}, "pytorch", ["a.bin", "b.bin"], ["c.bin"]),
        ({"a.bin": TORCH, "b.bin": b"\x80\x02]."}, "pytorch", ["a.bin", "b.bin"], []),  # unknown, so no verdict
        ({"a.bin": TORCH, "b.bin": LFS}, "pytorch", ["a.bin", "b.bin"], []),  # still to be downloaded
        ({"model.onnx": ONNX, "openvino_model.bin": TOKENS}, "onnx", ["model.onnx"], ["openvino_model.bin"]),
        ({"model.onnx": ONNX, "weights.bin": LFS}, "onnx", ["model.onnx"], ["weights.bin"]),
        ({"model.onnx": ONNX, "weights.bin": b"PK\x03\x04"}, "onnx", ["model.onnx"], ["weights.bin"]),
        ({"model.onnx": ONNX, "model.bin": TORCH}, "pytorch", ["model.bin"], ["model.onnx"]),
        ({"model.onnx": ONNX, "pytorch_model.bin": TOKENS}, "pytorch", ["pytorch_model.bin"], ["model.onnx"]),
        ({"sub/model.onnx": ONNX, "weights.bin": LFS}, "pytorch", ["weights.bin"], []),
        ({"m.gguf": b"GGUF", "model.bin": b"lmgg"}, "gguf", ["m.gguf"], ["model.bin"]),
        ({"a.npy": b"x", "model.bin": b"lmgg", "sub/b.bin": b"x"}, "npy", ["a.npy"], ["model.bin"]),
        ({"weights.npz": b"PK", "data.npz": b"PK"}, "npz", ["weights.npz"], ["data.npz"]),
        ({"a.onnx": ONNX, "model.onnx": ONNX}, "onnx", ["a.onnx", "model.onnx"], []),
        ({"a.gguf": b"GGUF", "model.gguf": b"GGUF"}, "gguf", ["a.gguf", "model.gguf"], []),
        ({"train.bin": TOKENS}, "pytorch", ["train.bin"], []),
    ],
)
def test_data_beside_a_checkpoint_is_no_artifact_and_is_told(files, format_, taken, beside):
    expected = tuple(Artifact(format_, file, tuple(beside)) for file in taken)
    assert find_artifacts(MemorySource(files)) == expected


def test_a_file_that_cannot_be_looked_at_stays_a_candidate():
    class Unreadable(MemorySource):
        def read_prefix(self, file, at_most):
            raise SourceError(f"{file}: no permission")

    artifacts = find_artifacts(Unreadable({"ckpt.pt": TORCH, "weights.bin": b"x"}))
    assert [artifact.file for artifact in artifacts] == ["ckpt.pt", "weights.bin"]


def test_nothing_is_looked_at_where_the_names_are_enough():
    source = MemorySource({"w.safetensors": WEIGHTS, "train.bin": TOKENS})
    assert find_artifacts(source) == (Artifact("safetensors", "w.safetensors", ("train.bin",)),)
    assert source.reads == []


@pytest.mark.parametrize("entry", ["model.safetensors", INDEX, SHARD, "deep/x.safetensors", "download"])
def test_a_named_file_is_read_alone(entry):
    source = MemorySource({entry: WEIGHTS, "model.safetensors": WEIGHTS}, entry=entry, kind="http")
    assert find_artifacts(source) == (Artifact("safetensors", entry),)
    assert source.asked == []


READ = "safetensors, pytorch, gguf, onnx, tensorflow, keras, npz, npy"


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("m.gguf", b"<html>", "m.gguf: expected a GGUF file, found an HTML page"),
        (
            "m.bin",
            LFS,
            "m.bin: expected a PyTorch file, found a Git LFS pointer to a file of 1,625,270,765 bytes",
        ),
        ("m.onnx", b"", "m.onnx: expected an ONNX model, found an empty file (0 bytes)"),
        ("config.json", b'{"a":1}', "config.json: expected a checkpoint, found a JSON document"),
        ("m.msgpack", b"", "m.msgpack: expected a Flax checkpoint, found an empty file (0 bytes)"),
        ("notes", b"hello", f"notes: expected a checkpoint in {READ}, found 5 bytes of an unknown format"),
    ],
)
def test_a_named_file_that_is_no_checkpoint_is_called_what_it_is(file, data, message):
    source = MemorySource({file: data}, entry=file)
    with pytest.raises(FormatError) as caught:
        read_checkpoint(source, find_artifacts(source)[0])
    assert (caught.type, caught.value.message) == (FormatError, message)


@pytest.mark.parametrize("entry", [None, "flax_model.msgpack"])
def test_a_known_format_that_is_not_read_is_unsupported(entry):
    file = entry or "flax_model.msgpack"
    with pytest.raises(UnsupportedError) as caught:
        find_artifacts(MemorySource({file: b"PK\x03\x04", "training_args.bin": b"x"}, entry=entry))
    expected = f"{file}: expected {READ}, found a Flax checkpoint, which this version does not read"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], "no file"),
        (["README.md", "config.json"], "README.md, config.json"),
        (["unet/model.safetensors"], "unet/model.safetensors"),
    ],
)
def test_nothing_to_read_says_what_was_looked_for_and_what_is_there(files, found):
    with pytest.raises(FormatError) as caught:
        find_artifacts(MemorySource(dict.fromkeys(files, b"x"), kind="hub"))
    looked_for = "model.safetensors, pytorch_model.bin, *.gguf, *.onnx, *.index, *.keras, *.npz, *.npy"
    assert caught.value.message == f"memory: expected {looked_for}, found {found}"


LINK = "../../blobs/5934c2a21381c914945f5238bada5fcf30cc140982991bf952e2fc620c7dc8ca"
UNREADABLE = {
    "BR-39/ckpt": "model-00002-of-00002.safetensors: expected a safetensors file, found a Git LFS pointer to a file of 9,932,343,992 bytes",
    "BR-41a/ckpt": "model.safetensors: size: expected 4,248 bytes as its header says, found 4,208",
    "BR-41c/ckpt": "model.safetensors: expected a safetensors file, found an empty file (0 bytes)",
    "BR-43/ckpt": f"{INDEX}: weight_map: expected model-00002-of-00002.safetensors for 'model.norm.weight', found no such file",
    "BR-60/snapshot": f"model.safetensors: expected a safetensors file, found a link written out as text, to '{LINK}'",
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_reported_files_that_cannot_be_read(case):
    source = folder(shared(f"cases/{case}"))
    (artifact,) = find_artifacts(source)
    with pytest.raises(FormatError) as caught:
        read_checkpoint(source, artifact)
    assert caught.value.message == UNREADABLE[case]


@pytest.mark.parametrize(("case", "tensors"), [("BR-46", 6), ("BR-53a", 12), ("BR-53b", 12), ("BR-54", 9)])
def test_reported_files_that_are_fine(case, tensors):
    source = folder(shared(f"cases/{case}/ckpt"))
    (artifact,) = find_artifacts(source)
    assert len(read_checkpoint(source, artifact).tensors) == tensors


def test_a_stale_total_size_is_recorded_beside_the_real_one():
    source = folder(shared("cases/BR-46/ckpt"))
    index = read_checkpoint(source, Artifact("safetensors", INDEX)).index
    assert index is not None
    assert (index.total_size, index.actual_size) == (1776, 1184)
