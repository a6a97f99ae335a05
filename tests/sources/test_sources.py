"""Which source a target means, and what opening one costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import SOURCES, Settings, http, hub, local, module, open_source, sample


def test_the_order_is_sample_path_url_hub():
    assert SOURCES == ("sample", "local", "http", "hub")
    assert [module(each) for each in SOURCES] == [sample, local, http, hub]


def test_each_form_of_target_opens_its_source(tmp_path, monkeypatch, no_environment):
    monkeypatch.chdir(tmp_path)
    forms = ["sample", "gpt2", "hf://org/name/x.bin", "https://host/x.bin", "."]
    opened = [open_source(form, Settings()) for form in forms]
    assert [(s.kind, s.entry, s.requests, s.used) for s in opened] == [
        ("sample", None, 0, ()),
        ("hub", None, 0, ()),
        ("hub", "x.bin", 0, ()),
        ("http", "x.bin", 0, ()),
        ("local", None, 0, ()),
    ]


def test_an_existing_path_wins_over_a_hub_name_and_the_scheme_forces_the_hub(tmp_path, monkeypatch, no_environment):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert open_source("org/name", Settings()).kind == "local"
    assert open_source("hf://org/name", Settings()).kind == "hub"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("mdel.safetensors", "did you mean model.safetensors?"),
        ("runs/7/model.bin", "there is no folder runs/7 either"),
        ("a/b/c", "there is no folder a/b either"),
        ("ftp://host/file", "a model on the Hub is written org/name"),
        ("a b", "a model on the Hub is written org/name"),
    ],
)
def test_a_word_that_is_nothing_known_says_no_such_file(word, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(SourceError) as error:
        open_source(word, Settings())
    assert error.value.message == (f"{word}: expected a file, a folder or a model's name, found no such file or folder")
    assert error.value.hint.startswith(hint)


@pytest.mark.parametrize("word", ["", "  "])
def test_an_empty_target_is_a_wrong_call(word):
    with pytest.raises(UsageError, match="found an empty word"):
        open_source(word, Settings())


def test_opening_a_folder_imports_neither_the_hub_client_nor_tls(tmp_path):
    code = (
        "import sys; from ln_audit.sources import open_source, Settings; open_source('.', Settings()).files();"
        "print(sorted({'huggingface_hub', 'httpx2', 'ssl', 'socket', 'numpy', 'http.client'} & set(sys.modules)))"
    )
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env={"PYTHONPATH": root})
    assert done.stdout == "[]\n"


def test_a_folder_of_the_targets_name_is_taken_before_the_hubs_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_source("gpt2", Settings(offline=True)).kind == "hub"
    (tmp_path / "gpt2").mkdir()
    assert open_source("gpt2", Settings(offline=True)).kind == "local"
