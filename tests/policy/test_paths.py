"""Paths of a policy belong to its folder: nothing that lies in the working directory is taken for what it names."""

import pytest

from ln_audit.policy import paths


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "ci" / "model").mkdir(parents=True)
    (tmp_path / "org" / "shadow").mkdir(parents=True)
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "plain.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "word", ["model", "org/name", "./x", "sample", "hf://org/name", "https://host/f", "/abs", "~/x"]
)
def test_a_policy_of_the_working_directory_means_what_a_call_would(word, here):
    assert paths.target(word, "") == word
    assert paths.file(word, "") == word


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("model", "./ci/model"),
        ("./model", "./ci/./model"),
        ("../plain.safetensors", "./ci/../plain.safetensors"),
        ("plain.safetensors", "./ci/plain.safetensors"),
        ("none/of/it", "./ci/none/of/it"),
        ("/abs/model", "/abs/model"),
        ("~/model", "~/model"),
        ("org/name", "org/name"),
        ("gpt2-xl", "gpt2-xl"),
        ("org/name@main", "org/name@main"),
        ("org/shadow", "hf://org/shadow"),
        ("gpt2", "hf://gpt2"),
        ("sample", "sample"),
        ("hf://org/name/file", "hf://org/name/file"),
        ("https://host/f.safetensors?sig=x", "https://host/f.safetensors?sig=x"),
    ],
)
def test_a_policy_of_another_folder_means_what_lies_there(word, meant, here):
    assert paths.target(word, "ci") == meant


def test_files_are_beside_it_or_absolute(here):
    assert paths.file("a.lock", "ci") == "ci/a.lock"
    assert paths.file("/a.lock", "ci") == "/a.lock"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("org/name", "org/name", True),
        ("org/name", "hf://org/name@main", True),
        ("gpt2-xl", "openai-community/gpt2-xl", True),
        ("hf://org/name/a.gguf", "hf://org/name/b.gguf", False),
        ("org/name", "org/other", False),
        ("org/name", "Org/NAME", True),
        ("gpt2-xl", "hf://OpenAI-community/GPT2-XL", True),
        ("gpt2-xl", "GPT2-XL", True),
        ("ci/model", "./ci/../ci/model", True),
        ("gpt2", "hf://gpt2", False),
        ("gpt2", "openai-community/gpt2", False),
        ("sample", "./sample", False),
        ("none", "./none.gguf", False),
        ("https://host/f", "https://host/g", False),
        ("https://host/a/f", "HTTPS://HOST:443//a/./b/../%66#x", True),
        ("http://host:80/f", "http://user:secret@host./%2E/f", True),
        ("https://host/f?sig=x", "https://host/f?sig=y", False),
        ("https://host/f", "https://host:8443/f", False),
        ("https://host/f", "http://host/f", False),
        ("https://host:x/f", "https://host:y/f", False),
        ("https://[x/f", "https://[y/f", False),
        ("hf://datasets/x", "hf://datasets/y", False),
        ("hf://a/../b", "hf://a/../c", False),
    ],
)
def test_which_targets_are_the_same(one, other, same, here):
    assert paths.same(one, other) == paths.same(other, one) == same


@pytest.mark.parametrize(
    ("file", "folder", "expected"),
    [
        ("ci/model/m.safetensors", "ci/model", True),
        ("ci/model/m.safetensors", "./ci/../ci/model/", True),
        ("ci/model/link.safetensors", "ci/model", True),  # it lies there
        ("ci/model/m.safetensors", "linked", True),  # the same folder
        ("aside.safetensors", "ci/model", True),  # it leads there
        ("plain.safetensors", ".", True),
        ("ci/model/link.safetensors", "gpt2", True),  # it leads there too
        ("ci/model/m.safetensors", "ci", False),  # further down: a model of its own
        ("ci/model", "ci", False),
        ("ci/model", "ci/model/m.safetensors", False),
        ("ci/model/none", "ci/model", False),
        ("ci/model/m.safetensors", "plain.safetensors", False),
        ("hf://org/name/a.gguf", "org/name", True),
        ("hf://org/name@v2/a.gguf", "Org/NAME@main", True),
        ("hf://gpt2-xl/model.safetensors", "openai-community/gpt2-xl", True),
        ("hf://org/name/onnx/model.onnx", "org/name", False),
        ("hf://org/name/a.gguf", "hf://org/name/b.gguf", False),
        ("org/name", "org/name", False),
        ("hf://org/name/a.gguf", "org/shadow", False),  # a folder here
        ("https://host/f", "https://host", False),
        ("sample", ".", False),
    ],
)
def test_which_file_is_of_what_a_target_names_whole(file, folder, expected, here):
    (here / "ci" / "model" / "m.safetensors").touch()
    (here / "gpt2" / "other.safetensors").touch()
    (here / "ci" / "model" / "link.safetensors").symlink_to(here / "gpt2" / "other.safetensors")
    (here / "aside.safetensors").symlink_to(here / "ci" / "model" / "m.safetensors")
    (here / "linked").symlink_to(here / "ci" / "model")
    assert paths.within(file, folder) == expected


@pytest.mark.parametrize(
    ("file", "called", "expected"),
    [
        ("plain.safetensors", ".", "plain.safetensors"),
        ("hf://org/name/a.gguf", "org/name", "hf://org/name/a.gguf"),
        ("hf://org/name/a.gguf", "org/name@refs%2Fpr%2F2", "hf://org/name@refs%2Fpr%2F2/a.gguf"),
        ("hf://org/name@v1/a.gguf", "org/name", "hf://org/name@v1/a.gguf"),
        ("hf://gpt2-xl/a.gguf", "gpt2-xl@v1", "hf://openai-community/gpt2-xl@v1/a.gguf"),
    ],
)
def test_a_file_of_a_called_repository_is_that_of_the_called_revision(file, called, expected, here):
    assert paths.of_called(file, called) == expected


def test_a_folder_of_links_to_the_weights_of_another_is_that_one(here):
    for name in ("a.safetensors", "b.safetensors", "config.json", "optimizer.pt"):
        (here / "ci" / "model" / name).touch()
        (here / "org" / "shadow" / name).symlink_to(here / "ci" / "model" / name)
    (here / "gpt2" / "own.safetensors").touch()
    assert paths.linked("org/shadow", "ci/model")
    assert paths.linked("./ci/model", "org/shadow")
    assert not paths.linked("org/shadow", "gpt2")
    assert not paths.linked("org/shadow/a.safetensors", "ci/model")
    assert not paths.linked("ci", "ci")
    assert not paths.linked("org/shadow", "org/name")
    (here / "org" / "shadow" / "b.safetensors").unlink()
    assert paths.linked("org/shadow", "ci/model")
    assert paths.linked("org/shadow", "ci/model/a.safetensors")
    (here / "org" / "shadow" / "c.safetensors").touch()
    assert not paths.linked("org/shadow", "ci/model")
