from __future__ import annotations

import math
import os

import pytest

from ln_audit.errors import FormatError, UsageError
from ln_audit.formats.config import Config, parse_config, read_config
from tests.formats.memory_source import MemorySource


def config(data: bytes) -> Config:
    return parse_config(data, "config.json", len(data))


def test_the_config_beside_the_weights_is_read():
    read = read_config(MemorySource({"config.json": b'{"model_type":"gpt2","layer_norm_epsilon":1e-05}'}))
    assert read == Config({"model_type": "gpt2", "layer_norm_epsilon": 1e-5}, "config.json")


def test_the_config_lies_in_the_folder_of_a_named_file():
    source = MemorySource({"config.json": b"{}", "text/config.json": b'{"a":1}'}, entry="text/model.safetensors")
    assert read_config(source) == Config({"a": 1}, "text/config.json")


def test_no_config_is_none():
    assert read_config(MemorySource({"model.safetensors": b""})) is None


def test_keys_are_found_nested_and_null_is_not_missing():
    read = config(b'{"text_config":{"rms_norm_eps":1e-6,"deep":{"x":0}},"a.b":2,"none":null,"list":[1]}')
    assert read.get("text_config.rms_norm_eps") == 1e-6
    assert read.get("text_config.deep.x") == 0
    assert (read.has("none"), read.get("none")) == (True, None)
    for absent in ("rms_norm_eps", "text_config.eps", "none.x", "list.0", "a", "a.b", "text_config."):
        assert (read.has(absent), read.get(absent)) == (False, None)


def test_a_dotted_key_of_a_file_is_no_nested_one():
    read = config(b'{"vision.model_type":"foo","vision":{"model_type":"bar","a":{},"a.b":1},"text.eps":1,"text":{}}')
    assert read.get("vision.model_type") == "bar"
    assert [read.has(key) for key in ("vision.a.b", "text.eps")] == [False, False]


def test_a_dotted_key_counts_where_a_container_has_it_under_a_name_of_its_own():
    read = Config({"text.eps": 1, "eps": 2, "other.eps": 3}, "m.gguf", spelt={"text.eps": "llama.eps", "eps": "e"})
    assert [read.get(key) for key in ("text.eps", "eps", "other.eps")] == [1, 2, None]


def test_of_a_key_written_twice_the_last_counts_and_it_is_told():
    read = config(b'{"eps":1e-5,"t":{"w":1,"w":2},"l":[{"k":0,"k":1}],"eps":1e-6}')
    assert (read.get("eps"), read.get("t.w"), read.get("l")) == (1e-6, 2, [{"k": 1}])
    assert read.repeated == ("t.w", "l[0].k", "eps")


def test_numbers_that_json_does_not_have_are_kept_for_the_checks_to_judge():
    read = config(b'{"a":NaN,"b":-Infinity}')
    assert math.isnan(read.get("a"))  # type: ignore[arg-type]
    assert read.get("b") == -math.inf


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"<!doctype html>", b"version https://git-lfs.github.com/spec/v1\n"]
)
def test_a_config_that_is_none_is_refused(data):
    with pytest.raises(FormatError, match=r"^config\.json: "):
        read_config(MemorySource({"config.json": data}))


def test_a_given_config_is_read_instead(tmp_path):
    given = tmp_path / "mine.json"
    given.write_text('{"eps": 1}')
    source = MemorySource({"config.json": b"{}"})
    assert read_config(source, str(given)) == Config({"eps": 1}, str(given))
    assert source.reads == []


def test_a_given_config_that_cannot_be_opened_is_a_wrong_call(tmp_path):
    for path, reason in ((tmp_path / "no.json", "no such file or directory"), (tmp_path, "is a directory")):
        with pytest.raises(UsageError) as caught:
            read_config(MemorySource({}), str(path))
        assert caught.value.message == f"--config {path}: expected a file to read, found {reason}"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="expected a file to read, found no ordinary one"):
        read_config(MemorySource({}), str(tmp_path / "pipe"))
    with pytest.raises(UsageError, match="found no path"):
        read_config(MemorySource({}), "a\0b")


def test_a_given_config_with_wrong_content_is_a_wrong_file(tmp_path):
    given = tmp_path / "mine.json"
    given.write_text("eps: 1")
    with pytest.raises(FormatError, match=r"mine\.json: line 1 column 1: expected JSON"):
        read_config(MemorySource({}), str(given))


def test_another_releases_config_is_read_where_there_is_no_usual_one():
    files = {"a/params.json": b'{"dim":8,"norm_eps":1e-05}', "config.json": b"{}"}
    assert read_config(MemorySource(files, entry="a/consolidated.00.pth")) == Config(
        {"dim": 8, "norm_eps": 1e-5}, "a/params.json"
    )
    files["a/config.json"] = b'{"a":1}'
    assert read_config(MemorySource(files, entry="a/consolidated.00.pth")) == Config({"a": 1}, "a/config.json")


def test_the_last_of_a_list_is_a_key_of_its_own():
    stages = parse_config(
        b'{"hidden_sizes": [96, 192], "none": [], "text": "ab", "vision": {"dims": [1, 2]}}', "config.json", 1
    )
    keys = ("hidden_sizes.-1", "vision.dims.-1", "none.-1", "text.-1", "hidden_sizes.0", "hidden_sizes.-2")
    assert [(stages.has(key), stages.get(key)) for key in keys] == [
        (True, 192), (True, 2), (False, None), (False, None), (False, None), (False, None),
    ]  # fmt: skip
