"""Make the recording that the package carries for GPT-2 small: synthetic states through PyTorch's LayerNorm.

    python scripts/make_gpt2_recording.py [DEST]      # default: ln_audit/assets/gpt2-small.recording.safetensors

The hidden states are NOT from a run of GPT-2. They are drawn with its outlier channels and scale (see
`hidden_states`). The operation is the one that transformers calls as `ln_f` (torch.nn.LayerNorm, float32, CPU), and
its gain and bias are the real final norm of GPT-2 small, read from ../shared/real/gpt2-small/norms.safetensors beside
the checkout. Of those, only the digests of their values enter the recording. Needs torch (`pip install -e .[peers]`).

The states are the same everywhere with the same numpy; PyTorch's result may differ in last digits between processors.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recording_file import value_sha256, write_recording
from safetensors.numpy import load_file

_ROOT = Path(__file__).resolve().parent.parent
_NORMS = _ROOT.parent / "shared" / "real" / "gpt2-small" / "norms.safetensors"
_SEED = 1536  # the parameters of the norm
_POSITIONS, _WIDTH = 64, 768
_EPSILON = 1e-5  # layer_norm_epsilon of the published config.json
# Channels whose size stands far above the rest in GPT-2 small's residual stream, with the size given to them here: at
# position 0, where it is largest, and at the other positions.
_OUTLIERS = {138: (-900.0, -60.0), 378: (250.0, 120.0), 447: (3000.0, 90.0)}
_FIRST_STD, _LAST_STD = 4.0, 16.0  # the residual's standard deviation grows along the text


def hidden_states() -> np.ndarray[Any, Any]:
    """States [64, 768] as float32: each channel its own mean, a growing spread, three outlier channels."""
    rng = np.random.default_rng(_SEED)
    spread = np.linspace(_FIRST_STD, _LAST_STD, _POSITIONS)[:, None]  # [n, 1]
    states = rng.normal(0.0, 1.0, _WIDTH) + spread * rng.standard_normal((_POSITIONS, _WIDTH))  # [n, d]
    for channel, (at_first, elsewhere) in _OUTLIERS.items():
        size = np.full(_POSITIONS, elsewhere)
        size[0] = at_first
        states[:, channel] = size * rng.normal(1.0, 0.05, _POSITIONS)
    return states.astype(np.float32)


def normalized(before: np.ndarray[Any, Any], gain: np.ndarray[Any, Any], bias: np.ndarray[Any, Any]) -> Any:
    """torch.nn.LayerNorm in float32 on one thread: [n, d] -> [n, d]."""
    torch.set_num_threads(1)
    norm = torch.nn.LayerNorm(_WIDTH, eps=_EPSILON)
    with torch.no_grad():
        norm.weight.copy_(torch.from_numpy(gain))
        norm.bias.copy_(torch.from_numpy(bias))
        return norm(torch.from_numpy(before)).numpy()


def main(dest: Path) -> None:
    """Make the states, put them through the norm, write both with what they are."""
    norms = load_file(_NORMS)
    gain, bias = norms["ln_f.weight"], norms["ln_f.bias"]
    before = hidden_states()
    metadata = {
        "ln_audit.recording": "1",
        "model": "openai-community/gpt2",
        "norm": "ln_f",
        "kind": "layer_norm",
        "eps": repr(_EPSILON),
        "framework": f"torch {version('torch')}",
        "output_dtype": "float32",
        "param_dtype": "float32",
        "compute_dtype": "float32",
        "gain_value_sha256": value_sha256(gain),
        "bias_value_sha256": value_sha256(bias),
        "made_with": "scripts/make_gpt2_recording.py",
        "note": "packaged with ln-audit: synthetic hidden states with GPT-2's outlier channels and scale, not a run "
        "of the model; put through PyTorch's LayerNorm (torch.nn.LayerNorm, CPU) holding GPT-2 small's real final norm",
    }
    size = write_recording(dest, {"before": before, "after": normalized(before, gain, bias)}, metadata)
    variances = before.var(axis=1)
    print(f"{dest}: {len(before)} rows, variance {variances.min():.0f} to {variances.max():.0f}, {size:,} bytes")


if __name__ == "__main__":
    default = _ROOT / "ln_audit" / "assets" / "gpt2-small.recording.safetensors"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
