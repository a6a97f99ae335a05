"""The published facts of GPT-2 small that the package carries."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from ln_audit.families import known

ROOT = Path(__file__).parent.parent.parent
KNOWN = json.loads((ROOT / "ln_audit" / "families" / "data" / "known" / "gpt2-small.json").read_text())
REAL = ROOT.parent / "shared" / "real" / "gpt2-small"
needs_real_norms = pytest.mark.skipif(not REAL.exists(), reason="GPT-2 small's real norms are not beside the checkout")


def folded(tensor: np.ndarray) -> str:
    return known.folded(tensor.tobytes()).hex()


def test_it_names_the_file_and_its_50_norm_tensors():
    assert (KNOWN["repo"], KNOWN["file"], KNOWN["size"]) == ("openai-community/gpt2", "model.safetensors", 548_105_171)
    assert KNOWN["parameters"] == 124_439_808
    expected = {f"h.{n}.ln_{k}.{part}" for n in range(12) for k in (1, 2) for part in ("weight", "bias")}
    assert set(KNOWN["tensors"]) == expected | {"ln_f.weight", "ln_f.bias"}
    assert {len(bytes.fromhex(tensor["fold"])) for tensor in KNOWN["tensors"].values()} == {768}


@needs_real_norms
def test_every_digest_and_fold_is_that_of_the_real_tensor():
    norms = load_file(REAL / "norms.safetensors")
    facts = json.loads((REAL / "facts.json").read_text())["norms"]
    assert KNOWN["tensors"] == {
        name: {
            "sha256": hashlib.sha256(tensor.tobytes()).hexdigest(),
            "crc32c": facts[name]["crc32c"],
            "fold": folded(tensor),
        }
        for name, tensor in norms.items()
    }


@needs_real_norms
def test_any_single_flipped_bit_shows_in_the_fold():
    stored = load_file(REAL / "norms.safetensors")["ln_f.weight"].view(np.uint32)
    for bit in range(32):
        changed = stored.copy()
        changed[bit * 24] ^= np.uint32(1 << bit)
        pairs = zip(bytes.fromhex(KNOWN["tensors"]["ln_f.weight"]["fold"]), bytes.fromhex(folded(changed)), strict=True)
        assert [at for at, (one, other) in enumerate(pairs) if one != other] == [bit * 24]
