"""A mistyped path is answered with what lies beside it."""

import pytest

from ln_audit.sources.near_names import hint, local_hint


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "models" / "llama").mkdir(parents=True)
    (tmp_path / "models" / "empty").mkdir()
    for name in ("config.json", "model.safetensors", ".hidden", "x" * 200, "a\x1b[31m"):
        (tmp_path / "models" / "llama" / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("models/llama/modle.safetensors", "did you mean models/llama/model.safetensors?"),
        ("./models/lama/", "did you mean ./models/llama?"),
        ("~/model", "did you mean ~/models?"),
        ("modells", "did you mean models?"),
        ("MODELS", "did you mean models?"),
        ("models/llama/zz", "models/llama holds a?[31m, config.json, model.safetensors, " + "x" * 99 + "…"),
        ("models/empty/zz", "models/empty is empty"),
        ("none/model.bin", "there is no folder none either"),
        ("no\0ne/x", "there is no folder no?ne either"),
    ],
)
def test_what_was_meant(spec, told):
    assert hint(spec) == told


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("models/lama", "no such path on this machine: did you mean models/llama?"),
        ("modells", "no such path on this machine: did you mean models?"),
        ("MODELS", "no such path on this machine: did you mean models?"),
        ("models", ""),
        ("models/llama", ""),  # it is there: whatever is wrong, it is no typing error
        ("org/name", ""),
        ("gpt2", ""),
        ("./models/lama", ""),
        ("hf://models/lama", ""),
    ],
)
def test_a_word_for_the_hub_beside_a_folder_of_its_first_part(spec, told):
    assert local_hint(spec) == told
