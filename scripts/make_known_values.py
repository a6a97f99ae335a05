"""Write down what is known of the published GPT-2 small: digests of its 50 norm tensors, one folded byte per element.

    python scripts/make_known_values.py [DEST]      # default: ln_audit/families/data/known/gpt2-small.json

Reads ../shared/real/gpt2-small beside the checkout (facts.json, norms.safetensors) and holds the two against each
other. `fold` is, for each float32 element, the XOR of its four stored bytes. It gives no value away, but any flipped
bit changes it, so a reader can count how many elements of a tensor differ from the published ones: exactly for single
flipped bits, and for unrelated values all but one in 256 of them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

_ROOT = Path(__file__).resolve().parent.parent
_REAL = _ROOT.parent / "shared" / "real" / "gpt2-small"
_FACTS = ("repo", "revision", "file", "size", "sha256", "parameters")


def fold(values: np.ndarray[Any, Any]) -> str:
    """One byte per element as hex: the XOR of the element's four little-endian bytes."""
    stored = values.astype("<f4").view(np.uint8).reshape(-1, 4)  # [d, 4]
    return bytes(np.bitwise_xor.reduce(stored, axis=1)).hex()


def known(name: str, fact: dict[str, Any], values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Digests and fold of one tensor. Raises `ValueError` where values and facts disagree."""
    digest = hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
    if digest != fact["sha256"]:
        raise ValueError(f"{name}: expected sha256 {fact['sha256']}, found {digest}")
    return {"sha256": digest, "crc32c": fact["crc32c"], "fold": fold(values)}


def main(dest: Path) -> None:
    """Write compact JSON, sorted, one tensor a line, so that a diff is readable."""
    facts = json.loads((_REAL / "facts.json").read_text())
    norms = load_file(_REAL / "norms.safetensors")
    lines = [f"{json.dumps(key)}:{json.dumps(facts[key])}," for key in _FACTS]
    tensors = [
        f"{json.dumps(name)}:{json.dumps(known(name, fact, norms[name]), separators=(',', ':'))}"
        for name, fact in sorted(facts["norms"].items())
    ]
    dest.parent.mkdir(parents=True, exist_ok=True)
    dest.write_text("{\n" + "\n".join(lines) + '\n"tensors":{\n' + ",\n".join(tensors) + "\n}}\n")
    print(f"{dest}: {len(tensors)} tensors, {dest.stat().st_size:,} bytes")


if __name__ == "__main__":
    default = _ROOT / "ln_audit" / "families" / "data" / "known" / "gpt2-small.json"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
