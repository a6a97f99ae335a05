"""Write down what is known of the published GPT-2 small: digests of its 50 norm tensors, one folded byte per element.

    python scripts/make_known_values.py [DEST]      # default: ln_audit/families/data/known/gpt2-small.json

Reads ../shared/real/gpt2-small beside the checkout (facts.json, norms.safetensors) and holds the two against each
other. `fold` is one check byte per float32 element (`families.known.folded`): it gives no value away, and counts how many
elements of a tensor differ from the published ones.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

_ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT))

from ln_audit.families.known import folded  # noqa: E402

_REAL = _ROOT.parent / "shared" / "real" / "gpt2-small"
_FACTS = ("repo", "revision", "file", "size", "sha256", "parameters")


def known(name: str, fact: dict[str, Any], values: Any) -> dict[str, Any]:
    """Digests and fold of one tensor. Raises `ValueError` where values and facts disagree."""
    digest = hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
    if digest != fact["sha256"]:
        raise ValueError(f"{name}: expected sha256 {fact['sha256']}, found {digest}")
    return {"sha256": digest, "crc32c": fact["crc32c"], "fold": folded(values.astype("<f4").tobytes()).hex()}


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
