"""A model on the (simulated) Hub, through the real client."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ln_audit.core import FileUse, Range
from ln_audit.errors import SourceError
from ln_audit.sources import Settings, open_source
from tests.sources.conftest import CONFIG, TOKENS, WEIGHTS

FILE = "model.safetensors"
ROOT = str(Path(__file__).resolve().parents[2])


def on_the_wire(hub, host):
    return [(seen.method, seen.path.partition("?")[0], seen.headers.get("range")) for seen in hub.seen(host)]


def test_the_final_norm_costs_one_request_to_the_hub_and_one_per_range(hub):
    source = open_source("gpt2", Settings())
    assert source.exists(FILE)
    assert source.read_prefix(FILE, 16_384) == WEIGHTS[:16_384]
    wanted = [Range(100_000, 103_072), Range(300_001, 303_073)]
    assert source.read(FILE, wanted) == [WEIGHTS[100_000:103_072], WEIGHTS[300_001:303_073]]
    assert source.size(FILE) == 400_000
    assert on_the_wire(hub, "hub") == [("GET", f"/openai-community/gpt2/resolve/main/{FILE}", "bytes=0-16383")]
    assert on_the_wire(hub, "cdn") == [
        ("GET", f"/{FILE}", "bytes=0-16383"),
        ("GET", f"/{FILE}", "bytes=100000-103071"),
        ("GET", f"/{FILE}", "bytes=300001-303072"),
    ]
    redirect = len(b"Found. Redirecting to the CDN")
    assert source.used == (FileUse(FILE, 400_000, redirect + 16_384 + 2 * 3_072),)
    assert source.requests == 4 == len(hub.log)
    assert (source.kind, source.identity, source.revision) == ("hub", "openai-community/gpt2", hub.commit)


def test_the_config_costs_two_requests_more_and_is_asked_for_at_the_same_commit(hub):
    source = open_source("openai-community/gpt2", Settings())
    source.exists(FILE)
    assert source.exists("config.json")
    assert source.read_prefix("config.json", 1_000_000) == CONFIG
    assert source.read("config.json", [Range(1, 5)]) == [CONFIG[1:5]]
    assert source.size("config.json") == len(CONFIG)
    assert [path for _, path, _ in on_the_wire(hub, "hub")[1:]] == [
        f"/openai-community/gpt2/resolve/{hub.commit}/config.json",
        f"/api/resolve-cache/models/openai-community/gpt2/{hub.commit}/config.json",
    ]
    assert source.requests == 3 == len(hub.log)


def test_neighbours_are_joined_and_the_prefix_is_not_asked_for_twice(hub):
    source = open_source("gpt2", Settings())
    source.read_prefix(FILE, 100)
    before = source.requests
    ranges = [Range(16_000, 17_000), Range(0, 10), Range(80_000, 80_010), Range(50, 50)]
    assert source.read(FILE, ranges) == [WEIGHTS[r.begin : r.end] for r in ranges]
    assert source.requests == before + 1
    assert on_the_wire(hub, "cdn")[-1] == ("GET", f"/{FILE}", "bytes=16384-80009")


def test_any_ranges_give_the_files_own_bytes(hub):
    source, choose = open_source("gpt2", Settings()), random.Random(1)
    for _ in range(30):
        begins = [choose.randrange(400_000) for _ in range(choose.randrange(1, 6))]
        ranges = [Range(begin, choose.randrange(begin, min(400_000, begin + 90_000)) + 1) for begin in begins]
        assert source.read(FILE, ranges) == [WEIGHTS[r.begin : r.end] for r in ranges]


@pytest.mark.parametrize("at_most", [0, 1, 16_383, 16_384, 16_385, 20_000, 399_999, 400_000, 400_001])
def test_every_prefix_length_is_right(hub, at_most):
    assert open_source("gpt2", Settings()).read_prefix(FILE, at_most) == WEIGHTS[:at_most]


def test_a_small_file_longer_than_the_first_request_is_read_whole(hub):
    source = open_source("gpt2", Settings())
    assert source.read_prefix("tokenizer.json", 10_000_000) == TOKENS
    assert source.size("tokenizer.json") == len(TOKENS)


def test_an_empty_file_is_empty(hub):
    source = open_source("gpt2", Settings())
    assert source.read_prefix("empty.safetensors", 16_384) == b""
    assert source.size("empty.safetensors") == 0
    assert source.read("empty.safetensors", [Range(0, 0)]) == [b""]


def test_a_renamed_repository_is_followed_and_then_asked_by_its_new_name(hub):
    hub.moved_from = {"old-org/gpt2"}
    source = open_source("old-org/gpt2", Settings())
    assert source.read_prefix(FILE, 4) == WEIGHTS[:4]
    assert source.exists("config.json")
    assert source.identity == "openai-community/gpt2"
    assert [path for _, path, _ in on_the_wire(hub, "hub")] == [
        f"/old-org/gpt2/resolve/main/{FILE}",
        f"/openai-community/gpt2/resolve/main/{FILE}",
        f"/openai-community/gpt2/resolve/{hub.commit}/config.json",
        f"/api/resolve-cache/models/openai-community/gpt2/{hub.commit}/config.json",
    ]


def test_a_file_that_is_not_there_is_absent_and_asked_for_once(hub):
    source = open_source("gpt2", Settings())
    assert not source.exists("pytorch_model.bin")
    assert not source.exists("pytorch_model.bin")
    assert source.revision == hub.commit
    assert source.requests == 1
    with pytest.raises(SourceError) as error:
        source.read_prefix("pytorch_model.bin", 8)
    assert error.value.message == (
        f"openai-community/gpt2/pytorch_model.bin: expected the file at revision {hub.commit}, found no such file"
    )


def test_a_name_out_of_an_index_never_leaves_the_repository(hub):
    with pytest.raises(SourceError, match="expected a file name inside the folder"):
        open_source("gpt2", Settings()).exists("../../other/secret")
    assert hub.log == []


def test_everything_after_the_first_answer_is_of_its_commit(hub):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    hub.fault = "other-commit"
    with pytest.raises(SourceError) as error:
        source.exists("config.json")
    assert error.value.message == f"openai-community/gpt2/config.json: expected commit {hub.commit}, found {'f' * 40}"


def test_an_expired_address_is_fetched_anew_once(hub):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    hub.fault, hub.fault_times = "expired", 1
    assert source.read_prefix(FILE, 10) == WEIGHTS[:10]
    assert (len(hub.seen("hub")), len(hub.seen("cdn")), source.requests) == (2, 2, 4)


def test_a_file_published_anew_while_its_address_expired_is_an_error(hub, model):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    first = hub.sha256[model / FILE]
    hub.sha256[model / FILE] = "0" * 64
    hub.fault, hub.fault_times = "expired", 1
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 10)
    assert error.value.message == f"openai-community/gpt2/{FILE}: expected SHA-256 {first}, found {'0' * 64}"


def test_a_file_that_is_gone_while_its_address_expired_is_an_error(hub, model):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    (model / FILE).unlink()
    hub.fault, hub.fault_times = "expired", 1
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 10)
    assert error.value.message == (
        f"openai-community/gpt2/{FILE}: expected the version first read, found the file gone"
    )


def test_a_file_that_the_cdn_has_not_is_an_error(hub, model):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    (model / FILE).unlink()
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 10)
    cdn = hub.address("cdn").removeprefix("http://")
    assert (
        error.value.message == f"openai-community/gpt2/{FILE}: expected the file, found that {cdn} has none there (404)"
    )


def test_the_token_goes_to_the_hub_and_to_no_other_host(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    source = open_source("gpt2", Settings())
    source.read_prefix(FILE, 4)
    source.read_prefix("config.json", 4)
    hub.fault = "small-elsewhere"
    source.read_prefix("tokenizer.json", 4)
    assert {seen.headers.get("authorization") for seen in hub.seen("hub")} == {"Bearer hf_right"}
    assert len(hub.seen("cdn")) == 2
    assert [name for seen in hub.seen("cdn") for name in seen.headers if name == "authorization"] == []
    assert "hf_right" not in "".join(f"{seen.path}{seen.headers}" for seen in hub.seen("cdn"))
    assert {seen.headers["accept-encoding"] for seen in hub.log} == {"identity"}


def test_a_token_is_not_sent_where_the_user_forbids_it(hub, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", "hf_right")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    open_source("gpt2", Settings()).exists("config.json")
    assert [seen.headers.get("authorization") for seen in hub.log] == [None, None]


def test_mirrors_that_serve_directly_or_tell_no_commit_are_read(hub):
    hub.fault = "direct"
    source = open_source("gpt2", Settings())
    assert source.read(FILE, [Range(0, 4), Range(200_000, 200_004)]) == [WEIGHTS[:4], WEIGHTS[200_000:200_004]]
    assert (source.requests, source.revision, hub.seen("cdn")) == (2, hub.commit, [])
    hub.fault = "no-commit"
    source = open_source("gpt2", Settings())
    assert source.read(FILE, [Range(200_000, 200_004)]) == [WEIGHTS[200_000:200_004]]
    assert source.revision is None


@pytest.mark.parametrize("fault", ["ignores-range", "ignores-range-untold", "mirror-ignores-range"])
def test_a_small_file_is_taken_whole_from_a_server_that_ignores_range(hub, fault):
    hub.fault = fault
    source = open_source("gpt2", Settings())
    ranges = [Range(8, 100), Range(399_000, 400_000)]
    assert source.read(FILE, ranges) == [WEIGHTS[8:100], WEIGHTS[399_000:]]
    assert len(hub.log) == source.requests == (1 if fault == "mirror-ignores-range" else 2)


def test_a_revision_is_asked_for_as_it_is_written(hub):
    source = open_source(f"gpt2@{hub.commit}", Settings())
    assert source.revision == hub.commit
    assert source.exists("config.json")
    with pytest.raises(SourceError) as error:
        open_source("gpt2", Settings(revision="refs/pr/1")).exists("config.json")
    assert error.value.message == (
        "openai-community/gpt2: expected the revision 'refs/pr/1', found no such branch, tag or commit"
    )
    assert hub.log[-1].path == "/openai-community/gpt2/resolve/refs%2Fpr%2F1/config.json"


def test_the_listing_is_asked_for_only_when_called(hub):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    assert source.files() == ["config.json", "empty.safetensors", FILE, "onnx/model.onnx", "tokenizer.json"]
    assert hub.log[-1].path == f"/api/models/openai-community/gpt2/tree/{hub.commit}?recursive=true"
    assert source.used[-1].name == "(list of files)"
    assert open_source(f"hf://gpt2/{FILE}", Settings()).files() is None


def test_the_users_environment_holds_in_a_process_of_its_own(hub, tmp_path):
    code = (
        "import json; from ln_audit.sources import open_source, Settings; s = open_source('gpt2', Settings());"
        "print(s.read_prefix('config.json', 99).decode()); print(json.dumps([s.requests, s.revision]))"
    )
    environment = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_right", "HF_HOME": str(tmp_path), "PYTHONPATH": ROOT}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert done.stdout == f"{CONFIG.decode()}\n{json.dumps([2, hub.commit])}\n"
    assert [seen.headers["authorization"] for seen in hub.log] == ["Bearer hf_right"] * 2
    hub.log.clear()
    offline = environment | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=offline, cwd=tmp_path)
    assert "offline mode allows no request" in done.stderr
    assert hub.log == []


LAYOUT_TOOL = Path(ROOT).parent / "shared" / "tools" / "make_gpt2_layout.py"


@pytest.mark.skipif(not LAYOUT_TOOL.exists(), reason="the tool that writes GPT-2's published layout is not here")
def test_the_published_layout_of_gpt2_stays_within_its_budget(tmp_path, no_environment, monkeypatch):
    from huggingface_hub import close_session, constants

    from tests.hub_simulator import HubSimulator

    subprocess.run([sys.executable, os.fspath(LAYOUT_TOOL), os.fspath(tmp_path / "gpt2")], check=True)
    data = 8 + 14_283
    with HubSimulator(tmp_path / "gpt2") as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
        template = hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        source = open_source("gpt2", Settings())
        source.read_prefix(FILE, 16_384)
        begins = (data + 9_458_688, data + 85_362_688)
        source.read(FILE, [Range(begin, begin + 3_072) for begin in begins])
        assert (source.requests, len(hub.log)) == (4, 4)
        assert source.used[0].size == 548_105_171
        assert source.used[0].bytes_read == 16_384 + 6_144 + 29 < 40_000
        source.read_prefix("config.json", 16_384)
        assert (source.requests, len(hub.log)) == (6, 6)
        close_session()
