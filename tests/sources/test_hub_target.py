"""How models on the Hub are written."""

from __future__ import annotations

import pytest

from ln_audit.errors import SourceError, UsageError
from ln_audit.sources.hub_target import SHORT_NAMES, HubTarget, looks_like_hub, parse


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("gpt2", HubTarget("openai-community/gpt2", "gpt2", None, None)),
        ("distilgpt2@main", HubTarget("distilbert/distilgpt2", "distilgpt2", "main", None)),
        ("openai-community/gpt2", HubTarget("openai-community/gpt2", "gpt2", None, None)),
        ("org/name@v1.0", HubTarget("org/name", None, "v1.0", None)),
        ("org/name@refs%2Fpr%2F1", HubTarget("org/name", None, "refs/pr/1", None)),
        ("hf://gpt2", HubTarget("openai-community/gpt2", "gpt2", None, None)),
        ("hf://gpt2/config.json", HubTarget("openai-community/gpt2", "gpt2", None, "config.json")),
        ("hf://org/name", HubTarget("org/name", None, None, None)),
        ("hf://models/org/name", HubTarget("org/name", None, None, None)),
        ("hf://org/name.gguf@a%2Fb/sub/x.bin", HubTarget("org/name.gguf", None, "a/b", "sub/x.bin")),
        ("hf://bert-base-uncased@main/sub/x", HubTarget("bert-base-uncased", None, "main", "sub/x")),
    ],
)
def test_every_form_has_one_meaning(word, meaning):
    assert looks_like_hub(word)
    assert parse(word, None) == meaning


def test_the_short_names_are_those_of_the_contract():
    assert SHORT_NAMES == {
        "gpt2": "openai-community/gpt2",
        "gpt2-medium": "openai-community/gpt2-medium",
        "gpt2-large": "openai-community/gpt2-large",
        "gpt2-xl": "openai-community/gpt2-xl",
        "distilgpt2": "distilbert/distilgpt2",
    }


@pytest.mark.parametrize(
    "word",
    [
        "model.safetensors",
        "org/model.gguf",
        "a/b/c",
        "./x",
        "~/x",
        "a b",
        "-x",
        "x--y/z",
        "org/name@a/b",
        "https://h/f",
        "a\nb",
    ],
)
def test_what_is_no_model_name_is_left_to_others(word):
    assert not looks_like_hub(word)


def test_model_names_with_dots_are_no_file_names():
    assert looks_like_hub("meta-llama/Llama-3.2-1B")
    assert looks_like_hub("bert-base-uncased")


def test_the_option_and_the_target_may_name_the_same_revision_but_not_two():
    assert parse("org/name@main", "main").revision == "main"
    assert parse("org/name", "v2").revision == "v2"
    with pytest.raises(UsageError) as error:
        parse("org/name@main", "v2")
    assert error.value.message == (
        "org/name@main: expected one revision, found 'main' in the target and 'v2' with --revision"
    )


@pytest.mark.parametrize("revision", ["", "../../x", "/x", "x/", "-x", "a b", "a\0b", "a\\b", "r" * 256])
def test_a_revision_that_git_has_not_is_a_wrong_call(revision):
    with pytest.raises(UsageError, match="expected a branch, tag or commit as revision"):
        parse("org/name", revision)


@pytest.mark.parametrize("word", ["hf://datasets/org/name", "hf://", "hf:///x/y", "hf://org/na me", "hf://spaces/a/b"])
def test_what_holds_no_model_is_refused(word):
    with pytest.raises(SourceError, match="expected a model as org/name on the Hub"):
        parse(word, None)


def test_a_path_in_the_repository_stays_inside_it():
    with pytest.raises(SourceError, match=r"expected a file name inside the folder, found '../../x'"):
        parse("hf://org/name/../../x", None)
