"""Whole files, held against the published SHA-256."""

from __future__ import annotations

import pytest

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources import Settings, hub_download
from ln_audit.sources.hub import open_source
from tests.sources.conftest import CONFIG, WEIGHTS

FILE = "model.safetensors"
FULL = Settings(full=True)


def test_the_whole_file_is_downloaded_checked_and_accounted_for(hub, model):
    source = open_source("gpt2", FULL)
    assert source.read(FILE, [Range(9, 12)]) == [WEIGHTS[9:12]]
    assert source.read_prefix(FILE, 3) == WEIGHTS[:3]
    assert (source.verified, source.published) == ({FILE}, {FILE: hub.sha256[model / FILE]})
    assert source.requests == len(hub.log)
    [use] = source.used
    assert use.bytes_read == 400_000 + len(b"Found. Redirecting to the CDN") + 3 + 3


def test_a_small_file_is_downloaded_too_and_nothing_is_claimed_of_it(hub):
    source = open_source("gpt2", FULL)
    assert source.read_prefix("config.json", 999) == CONFIG
    assert source.requests == len(hub.log)
    assert (source.verified, source.published) == (set(), {})
    offline = open_source("gpt2", Settings(offline=True))
    assert offline.read_prefix("config.json", 999) == CONFIG


def test_what_was_downloaded_is_read_offline_afterwards_and_checked_by_its_blobs_name(hub):
    open_source("gpt2", FULL).read_prefix(FILE, 3)
    hub.log.clear()
    source = open_source("gpt2", Settings(full=True, offline=True))
    assert source.read_prefix(FILE, 3) == WEIGHTS[:3]
    assert (source.verified, hub.log) == ({FILE}, [])


def test_a_cached_copy_that_differs_is_an_error_online_and_offline(hub, model, no_environment):
    open_source("gpt2", FULL).read_prefix(FILE, 3)
    [link] = no_environment.glob(f"models--openai-community--gpt2/snapshots/*/{FILE}")
    blob = link.resolve()
    blob.write_bytes(b"X" + WEIGHTS[1:])
    for settings in (FULL, Settings(full=True, offline=True)):
        with pytest.raises(SourceError) as error:
            open_source("gpt2", settings).read_prefix(FILE, 3)
        assert error.value.message.startswith(
            f"openai-community/gpt2/{FILE}: expected SHA-256 {hub.sha256[model / FILE]} as the Hub publishes it, found "
        )
        assert error.value.hint == f"the download differs: delete {blob} and run again"


def test_a_download_that_differs_from_what_is_published_is_an_error(hub, model):
    found = hub.sha256[model / FILE]
    hub.sha256[model / FILE] = "0" * 64
    with pytest.raises(SourceError) as error:
        open_source("gpt2", FULL).read(FILE, [Range(0, 1)])
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected SHA-256 {'0' * 64} as the Hub publishes it, found {found}"
    )


def test_a_branch_that_moves_before_the_download_is_an_error(hub):
    source = open_source("gpt2", FULL)
    source.exists(FILE)
    first, hub.commit = hub.commit, "e" * 40
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 3)
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected commit {first}, found that main is another one by now"
    )


def test_a_refused_download_is_a_refusal_of_the_hub(hub):
    source = open_source("gpt2", FULL)
    source.exists(FILE)
    hub.fault = "gated"
    with pytest.raises(SourceError, match="found a gated repository"):
        source.read_prefix(FILE, 3)


def test_a_server_that_tells_no_commit_cannot_be_downloaded_from(hub):
    hub.fault = "no-commit"
    with pytest.raises(SourceError) as error:
        open_source("gpt2", FULL).read_prefix(FILE, 3)
    assert error.value.message.startswith(
        f"openai-community/gpt2/{FILE}: expected the whole file, found that the download failed: "
    )
    assert "\n" not in error.value.message


def test_a_lost_network_is_named(hub, monkeypatch):
    source = open_source("gpt2", FULL)
    source.exists(FILE)
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client tries five times, a second apart
    hub.__exit__()
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 3)
    host = hub.endpoint.removeprefix("http://")
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected a connection to {host}, found [errno 111] connection refused"
    )


def test_a_bar_is_drawn_only_when_asked_for(hub, capsys):
    open_source("gpt2", FULL).read_prefix(FILE, 3)
    assert capsys.readouterr() == ("", "")
    assert hub_download._silent_bar()(total=3).disable


def test_hashing_a_file_that_is_gone_is_named(tmp_path):
    from ln_audit.sources.disk_file import DiskFile

    with pytest.raises(SourceError) as error:
        hub_download.verify(DiskFile(tmp_path / "none", "f"), "0" * 64)
    assert error.value.message == "f: expected a file, found no such file or folder"
