"""Folders and files on this machine."""

from __future__ import annotations

import os

import pytest

from ln_audit.core import FileUse, Range
from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import local
from ln_audit.sources.settings import Settings


def open_local(path):
    return local.open_source(os.fspath(path), Settings())


def test_a_folder_is_read_by_file_name(model):
    source = open_local(model)
    assert (source.kind, source.identity, source.entry, source.revision, source.requests) == (
        "local",
        str(model),
        None,
        None,
        0,
    )
    assert source.exists("config.json")
    assert not source.exists("none.json")
    assert not source.exists("config.json/inside")
    assert source.read("model.safetensors", [Range(3, 5), Range(0, 2)]) == [
        (model / "model.safetensors").read_bytes()[3:5],
        (model / "model.safetensors").read_bytes()[:2],
    ]
    assert source.read_prefix("onnx/model.onnx", 4) == (model / "onnx/model.onnx").read_bytes()[:4]
    assert source.size("empty.safetensors") == 0
    assert source.used == (
        FileUse("model.safetensors", 400_000, 4),
        FileUse("onnx/model.onnx", 20_000, 4),
        FileUse("empty.safetensors", 0, 0),
    )


def test_a_file_is_the_entry_and_its_folder_the_root(model):
    source = open_local(model / "model.safetensors")
    assert (source.entry, source.identity) == ("model.safetensors", str(model / "model.safetensors"))
    assert source.exists("config.json")
    assert source.files() is None


def test_the_listing_goes_down_and_leaves_hidden_folders_out(model):
    (model / ".git" / "objects").mkdir(parents=True)
    (model / ".git" / "objects" / "pack").write_bytes(b"")
    assert open_local(model).files() == [
        "config.json",
        "empty.safetensors",
        "model.safetensors",
        "onnx/model.onnx",
        "tokenizer.json",
    ]


def test_a_listing_without_end_is_refused(model, monkeypatch):
    monkeypatch.setattr(local, "_MOST_FILES", 3)
    with pytest.raises(SourceError, match="expected a model's folder, found more than 3 files"):
        open_local(model).files()


def test_a_folder_in_place_of_a_file_does_not_exist_as_a_file(model):
    source = open_local(model)
    assert not source.exists("onnx")
    with pytest.raises(SourceError) as error:
        source.read("onnx", [Range(0, 1)])
    assert error.value.message == f"{model}/onnx: expected a regular file, found a folder"


def test_a_dangling_link_is_an_error_not_an_absence(model):
    (model / "shard.safetensors").symlink_to("../../blobs/0f3a")
    with pytest.raises(SourceError) as error:
        open_local(model).exists("shard.safetensors")
    assert error.value.message == (
        f"{model}/shard.safetensors: expected a file, found a dangling link -> ../../blobs/0f3a"
    )


def test_a_name_from_a_file_stays_inside_but_the_hub_cache_layout_is_followed(tmp_path):
    blob = tmp_path / "blobs" / "0f3a"
    snapshot = tmp_path / "snapshots" / "c0ffee"
    blob.parent.mkdir()
    snapshot.mkdir(parents=True)
    blob.write_bytes(b"weights")
    (snapshot / "model.safetensors").symlink_to("../../blobs/0f3a")
    source = open_local(snapshot)
    assert source.read("model.safetensors", [Range(0, 7)]) == [b"weights"]
    for outside in ("../../blobs/0f3a", str(blob)):
        with pytest.raises(SourceError, match="expected a file name inside the folder"):
            source.exists(outside)


def test_a_pipe_as_target_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(SourceError) as error:
        open_local(tmp_path / "pipe.safetensors")
    assert error.value.message == f"{tmp_path}/pipe.safetensors: expected a regular file, found a named pipe"


def test_a_word_that_can_only_be_a_path_is_one_even_when_nothing_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for word in ("./none", "../none/x", "~/none", "/none/at/all"):
        assert local.accepts(word)
        with pytest.raises(SourceError) as error:
            local.open_source(word, Settings())
        assert error.value.message == f"{word}: expected a file, found no such file or folder"
        said = error.value.hint
        assert (
            said.startswith(("did you mean", "there is no folder")) or " holds " in said or said.endswith(" is empty")
        ), word
    assert not local.accepts("gpt2")
    (tmp_path / "gpt2").mkdir()
    assert local.accepts("gpt2")
    assert not local.accepts("hf://gpt2")


def test_a_home_is_found_and_a_nul_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "f").write_bytes(b"x")
    assert local.open_source("~/f", Settings()).identity == str(tmp_path / "f")
    with pytest.raises(SourceError, match="found one with a NUL"):
        local.open_source("./a\0b", Settings())


def test_a_revision_of_a_folder_is_a_wrong_call(model):
    with pytest.raises(UsageError) as error:
        local.open_source(str(model), Settings(revision="main"))
    assert error.value.message == f"{model}: expected a model on the Hub with --revision, found a path"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_folder_is_named(model):
    model.chmod(0)
    try:
        source = open_local(model)
        for look in (source.files, lambda: source.exists("config.json")):
            with pytest.raises(SourceError, match="expected a readable file, found permission denied"):
                look()
    finally:
        model.chmod(0o755)
