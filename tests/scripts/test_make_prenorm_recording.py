"""The pre-norm stack's recording, made again."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).parent.parent.parent
COMMITTED = ROOT / "fixtures" / "recordings" / "prenorm-stack.safetensors"


def test_made_again_it_prints_its_three_magnitudes_and_gives_the_committed_states(tmp_path: Path):
    made = tmp_path / "r.safetensors"
    call = [sys.executable, str(ROOT / "scripts" / "make_prenorm_recording.py"), str(made)]
    said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert "mean norm 7.78 in, 8.68 before the final norm, 8.00 out" in said
    found, committed = load_file(made), load_file(COMMITTED)
    assert {name: tensor.shape for name, tensor in found.items()} == {
        name: tensor.shape for name, tensor in committed.items()
    }
    # matrix products differ in last digits between processors; float32 keeps seven digits
    assert max(np.abs(found[name] - committed[name]).max() for name in committed) < 1e-5
