"""What the client's cache holds is read from there."""

from __future__ import annotations

import pytest
from huggingface_hub import hf_hub_download

from ln_audit.core import FileUse, Range
from ln_audit.errors import SourceError
from ln_audit.sources import Settings, open_source
from ln_audit.sources.hub_cache import published_sha256
from tests.sources.conftest import CONFIG, WEIGHTS

FILE = "model.safetensors"


@pytest.fixture
def filled(hub):
    """The cache after somebody's own download; the simulator's log is empty again."""
    for file in (FILE, "config.json"):
        hf_hub_download("openai-community/gpt2", file, endpoint=hub.endpoint)
    hub.log.clear()
    return hub


def test_a_cached_commit_needs_no_request(filled):
    source = open_source(f"gpt2@{filled.commit}", Settings())
    assert source.read(FILE, [Range(9, 12)]) == [WEIGHTS[9:12]]
    assert source.read_prefix("config.json", 999) == CONFIG
    assert (source.requests, source.revision, filled.log) == (0, filled.commit, [])
    assert source.used == (FileUse(FILE, 400_000, 3), FileUse("config.json", len(CONFIG), len(CONFIG)))


def test_a_branch_costs_one_request_to_learn_its_commit(filled):
    source = open_source("gpt2", Settings())
    assert source.exists(FILE)
    assert source.read(FILE, [Range(9, 12)]) == [WEIGHTS[9:12]]
    assert source.read_prefix("config.json", 999) == CONFIG
    assert (source.requests, [seen.host for seen in filled.log]) == (1, ["hub"])


def test_a_cached_copy_of_another_commit_is_not_taken(filled):
    filled.commit = "e" * 40
    source = open_source("gpt2", Settings())
    assert source.read(FILE, [Range(9, 12)]) == [WEIGHTS[9:12]]
    assert (source.revision, source.requests) == ("e" * 40, 2)


def test_a_copy_under_the_short_name_is_found(hub):
    hf_hub_download("gpt2", FILE, endpoint=hub.endpoint)
    hub.log.clear()
    source = open_source(f"openai-community/gpt2@{hub.commit}", Settings(offline=True))
    assert source.read(FILE, [Range(0, 3)]) == [WEIGHTS[:3]]
    assert hub.log == []


@pytest.mark.parametrize("how", ["option", "environment"])
def test_offline_reads_the_cache_and_asks_nobody(filled, monkeypatch, how):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", how == "environment")
    source = open_source("gpt2", Settings(offline=how == "option"))
    assert source.revision == filled.commit
    assert source.read(FILE, [Range(9, 12)]) == [WEIGHTS[9:12]]
    assert source.files() == ["config.json", FILE]
    assert not source.exists("model.safetensors.index.json")
    assert filled.log == []


def test_offline_without_a_copy_says_so(hub):
    source = open_source("gpt2@v1", Settings(offline=True))
    assert source.files() == ()
    with pytest.raises(SourceError) as error:
        source.exists(FILE)
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected revision v1 in the cache, "
        "found it not cached, and offline mode allows no request"
    )
    assert error.value.hint == (
        "drop --offline, or unset HF_HUB_OFFLINE, or run `hf download openai-community/gpt2` first"
    )
    assert hub.log == []


def test_a_cached_link_without_its_blob_is_an_error_offline_and_fetched_online(filled, no_environment):
    [link] = no_environment.glob(f"models--openai-community--gpt2/snapshots/*/{FILE}")
    link.resolve().unlink()
    offline = open_source("gpt2", Settings(offline=True))
    assert FILE in (offline.files() or ())
    with pytest.raises(SourceError) as error:
        offline.exists(FILE)
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected a cached file, found a dangling link -> {link.readlink()}"
    )
    assert open_source("gpt2", Settings()).read(FILE, [Range(0, 3)]) == [WEIGHTS[:3]]


def test_a_damaged_reference_is_no_commit(filled, no_environment):
    [reference] = no_environment.glob("models--openai-community--gpt2/refs/main")
    reference.write_text("../../elsewhere")
    with pytest.raises(SourceError, match="expected revision main in the cache"):
        open_source("gpt2", Settings(offline=True)).exists(FILE)


@pytest.mark.parametrize(
    ("text", "digest"),
    [(f'"{"a" * 64}"', "a" * 64), (f'W/"{"A" * 64}"', "a" * 64), (f'"{"a" * 40}"', None), (None, None), ("x", None)],
)
def test_only_a_sha256_is_taken_for_one(text, digest):
    assert published_sha256(text) == digest
