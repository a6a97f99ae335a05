"""A small model folder, and the simulated Hub that serves it, with the real client pointed at it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from tests.hub_simulator import HubSimulator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = json.dumps({"model_type": "gpt2", "n_embd": 4}).encode()
WEIGHTS = random.Random(7).randbytes(400_000)  # longer than the first 16 KiB, with room for gaps over 64 KiB
TOKENS = json.dumps(list(range(9_000))).encode()  # a small file in the Hub's sense, longer than the first 16 KiB


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder as a model is published."""
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "tokenizer.json").write_bytes(TOKENS)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    (folder / "onnx" / "model.onnx").write_bytes(WEIGHTS[:20_000])
    (folder / "empty.safetensors").write_bytes(b"")
    return folder


@pytest.fixture
def no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No token, no proxy, an empty cache, short pauses. Gives the cache's folder."""
    from huggingface_hub import close_session, constants

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    cache = tmp_path / "cache"
    settings = {"HF_HUB_CACHE": str(cache), "HF_TOKEN_PATH": str(tmp_path / "token"), "HF_HUB_OFFLINE": False}
    settings |= {"HF_HUB_DISABLE_XET": True, "HF_HUB_DISABLE_TELEMETRY": True, "HF_HUB_DISABLE_IMPLICIT_TOKEN": False}
    for name, value in settings.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr("ln_audit.sources.wire._BACKOFF", (0.01, 0.02))
    close_session()
    return cache


@pytest.fixture
def hub(model: Path, no_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubSimulator]:
    """The simulated Hub as the client's endpoint, as HF_ENDPOINT would make it."""
    from huggingface_hub import close_session, constants

    with HubSimulator(model) as simulator:
        monkeypatch.setattr(constants, "ENDPOINT", simulator.endpoint)
        template = simulator.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield simulator
        close_session()
