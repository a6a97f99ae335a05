"""`ln-audit verify gpt2`, the whole program against the simulated Hub: budget, report, and every fault as exit 3."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub_simulator import HubSimulator
from tests.shared import FIXTURES, needs

LN_F = ("ln_f.weight", "ln_f.bias")


def run(endpoint: str, home: Path, *args: str, command: str = "verify", **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    shape = ["--format", "json"] if command == "verify" else []
    return subprocess.run(
        [str(Path(sys.executable).with_name("ln-audit")), command, *args, *shape],
        env=clean | settings | env,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def report(made: subprocess.CompletedProcess[str]) -> dict:
    document = json.loads(made.stdout)
    assert document["exit_code"] == made.returncode
    (only,) = document["reports"]
    return only


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """The published file at its true size and layout, with the real norms in it; skips where that data is absent."""
    tool = needs("tools", "make_gpt2_layout.py")
    where = tmp_path_factory.mktemp("gpt2")
    subprocess.run([sys.executable, str(tool), str(where)], check=True, timeout=100)
    return where


@pytest.fixture(scope="module")
def published(layout):
    facts = json.loads(needs("real", "gpt2-small", "facts.json").read_text())
    with HubSimulator(layout, commit=facts["revision"]) as hub:
        yield hub


@pytest.mark.parametrize(
    "target", ["gpt2", "openai-community/gpt2", "hf://openai-community/gpt2", "openai-community/gpt2@main"]
)
def test_verify_gpt2_costs_six_requests_and_says_what_it_read(published, tmp_path, target):
    published.log.clear()
    made = run(published.endpoint, tmp_path, target, HF_TOKEN="hf_right")
    found = report(made)
    assert (made.returncode, found["verdict"]) == (0, "pass")
    assert found["source"]["identity"] == "openai-community/gpt2"
    assert found["source"]["revision"] == "607a30d783dfa663caf39e06633721c8d4cfcd7e"
    assert found["source"]["requests"] == len(published.log) == 6
    weights = next(file for file in found["source"]["files"] if file["name"] == "model.safetensors")
    assert weights["size"] == 548_105_171
    assert weights["bytes_read"] < 40_000
    assert len(published.seen("cdn")) == 3
    assert all("authorization" not in request.headers for request in published.seen("cdn"))
    assert all(request.headers["authorization"] == "Bearer hf_right" for request in published.seen("hub"))
    assert found["parameters"] == {"final_norm": 1536, "all_norms": 38400, "checkpoint": 124_439_808, "reason": None}
    known = next(f for f in found["findings"] if f["rule"] == "LN107")
    assert (known["status"], known["message"]) == ("pass", "bit for bit the published values (2 of 50 tensors read)")
    (comparison,) = found["comparisons"]
    assert (comparison["status"], comparison["packaged"]) == ("pass", True)
    assert comparison["provenance"].startswith("packaged: synthetic states put through PyTorch's LayerNorm")


def test_all_fifty_norm_tensors_are_read_in_fewer_requests(published, tmp_path):
    found = report(run(published.endpoint, tmp_path, "gpt2", "--values", "all"))
    assert sum(t["sha256"] is not None for norm in found["norms"] for t in norm["tensors"]) == 50
    assert found["source"]["requests"] < 40
    assert found["source"]["bytes_read"] < 500_000
    facts = json.loads(needs("real", "gpt2-small", "facts.json").read_text())["norms"]
    digests = {t["name"]: t["sha256"] for norm in found["norms"] for t in norm["tensors"]}
    assert digests == {name: fact["sha256"] for name, fact in facts.items()}


@pytest.mark.parametrize("name", LN_F)
def test_one_flipped_bit_in_the_published_file_fails(layout, tmp_path, name):
    facts = json.loads(needs("real", "gpt2-small", "facts.json").read_text())
    begin = 8 + facts["header_bytes"] + facts["norms"][name]["data_offsets"][0]
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", "--sparse=always", str(layout), str(copy)], check=True, timeout=100)
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(begin + 4 * 9 + 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 0x10]))
    made = run("http://127.0.0.1:9", tmp_path, str(copy))
    failed = [f for f in report(made)["findings"] if f["status"] == "fail"]
    assert made.returncode == 1
    assert (failed[0]["rule"], failed[0]["subject"]) == ("LN107", name)
    assert failed[0]["message"].endswith("found 1 of 768 elements different, first at [9]")


def test_the_local_layout_says_what_is_published(layout, tmp_path):
    found = report(run("http://127.0.0.1:9", tmp_path, str(layout)))
    assert found["verdict"] == "pass"
    assert found["parameters"] == {"final_norm": 1536, "all_norms": 38400, "checkpoint": 124_439_808, "reason": None}
    assert "bit for bit the published values (50 of 50 tensors read)" in [f["message"] for f in found["findings"]]
    (final,) = [norm for norm in found["norms"] if norm["role"] == "final"]
    gain, bias = final["tensors"]
    assert [round(gain[k], 5) for k in ("mean", "std", "max")] == [1.50781, 1.39017, 17.41932]
    assert (gain["argmin"], gain["argmax"], bias["argmin"], bias["argmax"]) == (87, 496, 314, 496)
    assert [round(bias[k], 5) for k in ("min", "max")] == [-4.19177, 7.36832]


@pytest.fixture
def hub():
    with HubSimulator(FIXTURES / "good" / "gpt2-safetensors", repo="org/name") as simulator:
        simulator.retry_after = "0"
        yield simulator


def test_a_model_on_the_hub_passes_by_branch_commit_and_file(hub, tmp_path):
    for target in ("org/name", "org/name@main", f"org/name@{hub.commit}", "hf://org/name/model.safetensors"):
        made = run(hub.endpoint, tmp_path, target)
        assert (made.returncode, report(made)["source"]["revision"]) == (0, hub.commit), target
    assert run(hub.endpoint, tmp_path, "org/name", "--revision", "main").returncode == 0


def test_a_lock_holds_all_norms_of_a_model_on_the_hub(hub, tmp_path):
    made = run(hub.endpoint, tmp_path, "org/name", command="lock")
    assert (made.returncode, made.stdout) == (0, "LOCKED  org/name → ln-audit.lock\n  5 norms, 80 parameters\n")
    text = (tmp_path / "ln-audit.lock").read_text()
    assert f'identity = "org/name"\nrevision = "{hub.commit}"\n' in text
    assert "[[file]]" not in text
    hub.log.clear()
    found = report(run(hub.endpoint, tmp_path, "org/name", "--lock", "ln-audit.lock"))
    held = [f["status"] for f in found["findings"] if f["rule"] == "LN302"]
    assert (found["verdict"], held) == ("pass", ["pass"] * 5)
    assert run(hub.endpoint, tmp_path, "org/name", "--lock", "ln-audit.lock", "--values", "final").returncode == 3
    full = run(hub.endpoint, tmp_path, "org/name", "--full", command="lock")
    digest = hashlib.sha256((FIXTURES / "good" / "gpt2-safetensors" / "model.safetensors").read_bytes()).hexdigest()
    assert full.returncode == 0
    assert f'[[file]]\nname = "model.safetensors"\nsha256 = "{digest}"\n' in (tmp_path / "ln-audit.lock").read_text()


def test_full_downloads_and_says_that_the_published_digest_holds(hub, tmp_path):
    found = report(run(hub.endpoint, tmp_path, "org/name", "--full"))
    digest = hashlib.sha256((FIXTURES / "good" / "gpt2-safetensors" / "model.safetensors").read_bytes()).hexdigest()
    assert found["verdict"] == "pass"
    assert {f["name"]: f["sha256"] for f in found["source"]["files"]} == {
        "model.safetensors": digest,
        "config.json": None,
    }
    again = report(run(hub.endpoint, tmp_path, f"org/name@{hub.commit}", "--offline"))
    assert (again["verdict"], again["source"]["requests"]) == ("pass", 0)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The fixtures' GPT-2 with a tensor in front that keeps the norms out of the first read."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    root = tmp_path_factory.mktemp("large")
    good = FIXTURES / "good" / "gpt2-safetensors"
    tensors = load_file(good / "model.safetensors") | {
        "transformer.h.0.attn.c_attn.weight": np.ones((300, 300), np.float32)
    }
    save_file(tensors, root / "model.safetensors", {"format": "pt"})
    (root / "config.json").write_bytes((good / "config.json").read_bytes())
    return root


# (target, fault of the simulator, token) → what the message says; None where an honest client lives with it.
FAULTS = {
    ("org/name", None, None): None,
    ("org/none", None, None): "does not exist, or is private",
    ("org/none", None, "hf_right"): "does not exist",
    ("org/name@nobranch", None, None): "revision 'nobranch'",
    ("hf://org/name/none.safetensors", None, None): "found no such file",
    ("org/name", "gated", None): "gated",
    ("org/name", "disabled", None): "disabled",
    ("org/name", "forbidden", "hf_right"): "403",
    ("org/name", "bad-token", "hf_wrong"): "token",
    ("org/name", "rate-limited", None): "429",
    ("org/name", "server-error", None): "50",
    ("org/name", "cdn-error", None): "50",
    ("org/name", "redirect-loop", None): "redirect",
    ("org/name", "page", None): "HTML",
    ("org/name", "cdn-page", None): "HTML",
    ("org/name", "gzip", None): "gzip",
    ("org/name", "wrong-range", None): "expected bytes 0-16383, found bytes 8-16391",
    ("org/name", "no-content-range", None): "ange",
    ("org/name", "other-size", None): "expected a file of",
    ("org/name", "cut-short", None): "bytes",
    ("org/name", "less-than-asked", None): "bytes",
    ("org/name", "longer", None): "bytes",
    ("org/name", "not-satisfiable", None): "416",
    ("org/name", "changes", None): "expected",
    ("org/name", "other-commit", None): "commit",
    ("org/name", "expired", None): None,
    ("org/name", "direct", None): None,
    ("org/name", "no-commit", None): None,
    ("org/name", "ignores-range", None): None,
}  # fmt: skip


@pytest.mark.parametrize(("case", "said"), FAULTS.items(), ids=lambda value: str(value)[:60])
def test_each_fault_of_the_hub_is_exit_3_with_its_own_message(large, tmp_path, case, said):
    target, fault, token = case
    with HubSimulator(large, repo="org/name") as hub:
        hub.fault, hub.retry_after = fault, "0"
        if fault == "expired":
            hub.fault_times = 1
        made = run(hub.endpoint, tmp_path, target, **({} if token is None else {"HF_TOKEN": token}))
    assert "Traceback" not in made.stderr
    found = report(made)
    if said is None:
        assert (made.returncode, found["verdict"], found["error"]) == (0, "pass", None)
    else:
        assert (made.returncode, found["verdict"], found["error"]["kind"]) == (3, "incomplete", "source")
        assert said in found["error"]["message"]


def test_without_a_network_it_is_incomplete_and_says_so(tmp_path):
    made = run("http://127.0.0.1:9", tmp_path, "org/name")
    assert made.returncode == 3
    assert report(made)["error"]["kind"] == "source"
    offline = run("http://127.0.0.1:9", tmp_path, "org/name", "--offline")
    assert offline.returncode == 3
    assert "offline" in report(offline)["error"]["message"] + report(offline)["error"]["hint"]


def test_a_file_on_any_web_server(tmp_path):
    with HubSimulator(FIXTURES / "good" / "gpt2-safetensors", repo="org/name") as hub:
        hub.fault = "direct"
        url = f"{hub.endpoint}/org/name/resolve/main/model.safetensors"
        found = report(run("http://127.0.0.1:9", tmp_path, url, HF_TOKEN="hf_right"))
        assert all("authorization" not in request.headers for request in hub.log)
    assert (found["verdict"], found["source"]["kind"]) == ("pass", "http")
