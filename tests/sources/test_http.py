"""Files on any web server."""

from __future__ import annotations

import pytest

from ln_audit.core import FileUse, Range
from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import Settings, open_source
from tests.sources.conftest import CONFIG, WEIGHTS

FILE = "model.safetensors"


@pytest.fixture
def web(hub):
    """The simulator's second server, taken as a plain web server."""
    return hub.address("cdn")


def test_a_file_is_read_by_range_and_accounted_for(hub, web):
    source = open_source(f"{web}/{FILE}", Settings())
    assert source.read_prefix(FILE, 16_384) == WEIGHTS[:16_384]
    assert source.read(FILE, [Range(200_000, 200_010), Range(3, 5)]) == [WEIGHTS[200_000:200_010], WEIGHTS[3:5]]
    assert source.size(FILE) == 400_000
    assert (source.kind, source.identity, source.entry, source.revision) == ("http", f"{web}/{FILE}", FILE, None)
    assert (source.requests, source.files()) == (2, None)
    assert source.used == (FileUse(FILE, 400_000, 16_394),)
    assert len(hub.log) == 2


def test_the_hubs_token_never_goes_to_a_web_server(hub, web, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    open_source(f"{web}/{FILE}", Settings()).read_prefix(FILE, 4)
    open_source(f"{hub.endpoint}/gpt2/resolve/main/{FILE}", Settings()).read_prefix(FILE, 4)
    assert [name for seen in hub.log for name in seen.headers if name == "authorization"] == []


def test_what_lies_beside_the_file_is_looked_for_only_without_a_query(hub, web):
    source = open_source(f"{web}/{FILE}", Settings())
    assert source.exists("config.json")
    assert source.read_prefix("config.json", 100) == CONFIG
    assert not source.exists("none.json")
    assert [seen.path for seen in hub.log] == ["/config.json", "/none.json"]
    hub.log.clear()
    signed = open_source(f"{web}/{FILE}?signature=1", Settings())
    assert not signed.exists("config.json")
    assert hub.log == []
    assert signed.read_prefix(FILE, 4) == WEIGHTS[:4]
    assert hub.log[0].path == f"/{FILE}?signature=1"


def test_a_page_in_place_of_a_neighbour_is_absence_but_in_place_of_the_file_an_error(hub, web):
    hub.fault = "cdn-page"
    source = open_source(f"{web}/{FILE}", Settings())
    assert not source.exists("config.json")
    with pytest.raises(SourceError) as error:
        source.exists(FILE)
    assert error.value.message == f"{web}/{FILE}: expected the file, found an HTML page"


def test_a_missing_file_is_absent_and_reading_it_an_error(web):
    source = open_source(f"{web}/none.bin", Settings())
    assert not source.exists("none.bin")
    with pytest.raises(SourceError) as error:
        source.size("none.bin")
    assert error.value.message == f"{web}/none.bin: expected a file, found none there"


def test_an_empty_file_is_empty(web):
    source = open_source(f"{web}/empty.safetensors", Settings())
    assert (source.read_prefix("empty.safetensors", 10), source.size("empty.safetensors")) == (b"", 0)


def test_redirects_are_followed_and_the_place_they_lead_to_is_remembered(hub):
    source = open_source(f"{hub.endpoint}/gpt2/resolve/main/{FILE}", Settings())
    assert source.read(FILE, [Range(100_000, 100_004), Range(300_000, 300_004)]) == [
        WEIGHTS[100_000:100_004],
        WEIGHTS[300_000:300_004],
    ]
    assert (len(hub.seen("hub")), len(hub.seen("cdn")), source.requests) == (2, 3, 5)


def test_an_expired_redirect_is_asked_for_anew_at_the_address_the_user_gave(hub):
    source = open_source(f"{hub.endpoint}/openai-community/gpt2/resolve/main/{FILE}", Settings())
    source.read_prefix(FILE, 4)
    hub.fault, hub.fault_times = "expired", 1
    assert source.read(FILE, [Range(100_000, 100_004)]) == [WEIGHTS[100_000:100_004]]
    assert len(hub.seen("hub")) == 2


def test_a_name_out_of_an_index_stays_beside_the_file(web):
    with pytest.raises(SourceError, match="expected a file name inside the folder"):
        open_source(f"{web}/onnx/model.onnx", Settings()).exists("../config.json")


def test_passwords_and_queries_are_in_no_message(no_environment):
    source = open_source("http://user:secret@127.0.0.1:9/x.bin?key=secret#part", Settings())
    assert source.identity == "http://127.0.0.1:9/x.bin"
    with pytest.raises(SourceError) as error:
        source.exists("x.bin")
    assert "secret" not in error.value.message + error.value.hint


@pytest.mark.parametrize("url", ["https://host", "https://host/", "https://host/folder/", "https://"])
def test_the_url_of_a_folder_is_refused(url):
    with pytest.raises(SourceError, match="expected the URL of a file, found one of a folder"):
        open_source(url, Settings())


def test_what_is_no_url_is_refused():
    with pytest.raises(SourceError, match="expected a URL, found"):
        open_source("https://[host/x.bin", Settings())


def test_revision_full_and_offline_make_no_sense_for_a_web_server():
    for settings, option in ((Settings(revision="main"), "--revision"), (Settings(full=True), "--full")):
        with pytest.raises(UsageError) as usage:
            open_source("https://host/x.bin", settings)
        assert (
            usage.value.message == f"https://host/x.bin: expected a model on the Hub with {option}, found a web server"
        )
    with pytest.raises(SourceError) as error:
        open_source("https://host/x.bin", Settings(offline=True))
    assert error.value.message == "https://host/x.bin: expected a local target, found a URL in offline mode"
