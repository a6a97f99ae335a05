"""The recording packaged for GPT-2 small: what it says of itself, and that it is true."""

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from ln_audit.numerics.reference import layer_norm
from scripts.recording_file import value_sha256

ROOT = Path(__file__).parent.parent.parent
RECORDING = ROOT / "ln_audit" / "assets" / "gpt2-small.recording.safetensors"
NORMS = ROOT.parent / "shared" / "real" / "gpt2-small" / "norms.safetensors"
needs_real_norms = pytest.mark.skipif(not NORMS.exists(), reason="GPT-2 small's real norms are not beside the checkout")


def metadata() -> dict[str, str]:
    with safe_open(RECORDING, "numpy") as file:
        return file.metadata()


def test_it_holds_64_rows_and_none_of_the_models_parameters():
    found = {name: (tensor.dtype.name, tensor.shape) for name, tensor in load_file(RECORDING).items()}
    assert found == {"before": ("float32", (64, 768)), "after": ("float32", (64, 768))}
    assert RECORDING.stat().st_size < 450_000


def test_it_says_plainly_what_it_is():
    found = metadata()
    assert (found["ln_audit.recording"], found["model"], found["norm"]) == ("1", "openai-community/gpt2", "ln_f")
    for words in ("packaged", "synthetic hidden states", "not a run of the model", "PyTorch's LayerNorm"):
        assert words in found["note"]


def test_its_states_have_gpt2s_outlier_channels_and_scale():
    before = load_file(RECORDING)["before"]
    loudest = np.argsort(-np.abs(before).mean(axis=0))[:3]
    assert sorted(loudest.tolist()) == [138, 378, 447]
    assert 2000 < np.abs(before[0]).max() < 4000  # position 0
    assert 100 < np.median(before.var(axis=1)) < 1000


@needs_real_norms
def test_the_reference_with_the_real_final_norm_gives_what_was_recorded():
    norms, recorded = load_file(NORMS), load_file(RECORDING)
    gain, bias = norms["ln_f.weight"], norms["ln_f.bias"]
    before, *affine = (array.astype(np.float64) for array in (recorded["before"], gain, bias))
    expected = layer_norm(before, affine[0], affine[1], 1e-5).y
    assert np.abs(recorded["after"] - expected).max() < 2e-5  # gains reach 17, results 200
    assert metadata()["gain_value_sha256"] == value_sha256(gain)
    assert metadata()["bias_value_sha256"] == value_sha256(bias)
