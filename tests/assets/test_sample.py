"""The model that ships as `sample`: its files belong together, its norms are trained, and nothing of a machine is in them."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from ln_audit.numerics.reference import layer_norm
from scripts.recording_file import value_sha256

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "ln_audit" / "assets" / "sample"
NORM = "transformer.ln_f"


@pytest.fixture(scope="module")
def model() -> dict[str, np.ndarray]:
    return load_file(SAMPLE / "model.safetensors")


@pytest.fixture(scope="module")
def recording() -> dict[str, np.ndarray]:
    return load_file(SAMPLE / "recording.safetensors")


def metadata() -> dict[str, str]:
    with safe_open(SAMPLE / "recording.safetensors", "numpy") as file:
        return file.metadata()


def test_it_is_a_gpt2_of_100_272_parameters_in_less_than_700_kb(model: dict[str, np.ndarray]):
    config = json.loads((SAMPLE / "config.json").read_text())
    assert (config["model_type"], config["n_embd"], config["n_layer"], config["layer_norm_epsilon"]) == (
        "gpt2",
        48,
        3,
        1e-5,
    )
    assert sum(tensor.size for tensor in model.values()) == 100_272
    assert sorted(file.name for file in SAMPLE.iterdir()) == [
        "config.json",
        "model.safetensors",
        "recording.safetensors",
    ]
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 700_000


def test_every_norm_was_trained(model: dict[str, np.ndarray]):
    gains = {name: tensor for name, tensor in model.items() if ".ln_" in name and name.endswith(".weight")}
    biases = {name: tensor for name, tensor in model.items() if ".ln_" in name and name.endswith(".bias")}
    assert (len(gains), len(biases)) == (7, 7)
    assert min(gain.std() for gain in gains.values()) > 0.05
    assert min(bias.std() for bias in biases.values()) > 0.05


def test_the_recording_holds_the_64_tokens_of_its_text_and_every_state(recording: dict[str, np.ndarray]):
    states = ["before", "after", *(f"hidden_states.{number}" for number in range(4))]
    assert {name: (tensor.dtype.name, tensor.shape) for name, tensor in recording.items()} == {
        "tokens": ("int64", (1, 64)),
        **dict.fromkeys(states, ("float32", (1, 64, 48))),
    }
    assert bytes(recording["tokens"].ravel().tolist()).decode() == metadata()["text"]


def test_the_last_hidden_state_is_what_the_final_norm_gave(recording: dict[str, np.ndarray]):
    assert recording["hidden_states.3"].tobytes() == recording["after"].tobytes()


def test_the_recorded_digests_are_those_of_the_model(model: dict[str, np.ndarray]):
    found = metadata()
    assert found["norm"] == NORM
    assert found["gain_value_sha256"] == value_sha256(model[f"{NORM}.weight"])
    assert found["bias_value_sha256"] == value_sha256(model[f"{NORM}.bias"])


def test_the_reference_gives_what_was_recorded(model: dict[str, np.ndarray], recording: dict[str, np.ndarray]):
    gain, bias, before = (
        array.astype(np.float64)
        for array in (model[f"{NORM}.weight"], model[f"{NORM}.bias"], recording["before"].reshape(64, 48))
    )
    right = np.abs(layer_norm(before, gain, bias, 1e-5).y - recording["after"].reshape(64, 48)).max()
    wrong = np.abs(layer_norm(before, gain, bias, 1e-6).y - recording["after"].reshape(64, 48)).max()
    assert right < 1e-6
    assert wrong > 5e-5  # its rows are quiet enough to tell an epsilon that is wrong by ten


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "recording.safetensors"])
def test_nothing_of_the_machine_that_made_it_is_inside(file: str):
    data = (SAMPLE / file).read_bytes()
    header = data if file.endswith(".json") else data[8 : 8 + int.from_bytes(data[:8], "little")]
    assert [word for word in (b"/root", b"/home", b"/tmp", b"/work", b"_name_or_path") if word in header] == []
