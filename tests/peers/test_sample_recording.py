"""The packaged recordings, made again by the implementations they name."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parent.parent.parent
ASSETS = ROOT / "ln_audit" / "assets"
NORMS = ROOT.parent / "shared" / "real" / "gpt2-small" / "norms.safetensors"


def close(found: np.ndarray, recorded: np.ndarray, within: float) -> bool:
    """Processors sum in different orders, so last digits may differ; the recording itself is held to the tolerance."""
    return bool(np.abs(found - recorded).max() <= within * np.abs(recorded).max())


def test_the_sample_loads_in_transformers_and_gives_the_recorded_states():
    model = transformers.GPT2LMHeadModel.from_pretrained(ASSETS / "sample").eval()
    recorded = load_file(ASSETS / "sample" / "recording.safetensors")
    sides: list[np.ndarray] = []
    model.transformer.ln_f.register_forward_hook(lambda _, given, gave: sides.extend((given[0].numpy(), gave.numpy())))
    with torch.no_grad():
        output = model(torch.from_numpy(recorded["tokens"]), output_hidden_states=True)
    assert len(output.hidden_states) == 4
    for number, state in enumerate(output.hidden_states):
        assert close(state.numpy(), recorded[f"hidden_states.{number}"], 1e-5)
    assert close(sides[0], recorded["before"], 1e-5)
    assert close(sides[1], recorded["after"], 1e-5)


def test_the_sample_learned_its_text():
    model = transformers.GPT2LMHeadModel.from_pretrained(ASSETS / "sample").eval()
    text = (ROOT / "scripts" / "sample_text.txt").read_bytes()
    tokens = torch.tensor([list(text[start : start + 64]) for start in range(0, 3776, 59)])
    with torch.no_grad():
        assert model(tokens, labels=tokens).loss.item() < 0.5  # 5.5 before training


@pytest.mark.skipif(not NORMS.exists(), reason="GPT-2 small's real norms are not beside the checkout")
def test_the_packaged_gpt2_recording_is_what_pytorchs_layer_norm_gives():
    recorded, norms = load_file(ASSETS / "gpt2-small.recording.safetensors"), load_file(NORMS)
    tensors = (torch.from_numpy(array) for array in (norms["ln_f.weight"], norms["ln_f.bias"]))
    found = torch.nn.functional.layer_norm(torch.from_numpy(recorded["before"]), (768,), *tensors, eps=1e-5).numpy()
    assert close(found, recorded["after"], 1e-6)
