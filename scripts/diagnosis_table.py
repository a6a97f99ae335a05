"""Write docs/diagnosis.md: every fault that the tests plant, over kinds, dtypes, widths and rows, and what was said of it.

    python scripts/diagnosis_table.py     # half a minute; NumPy only

It runs the fault matrix of tests/diagnosis and counts. "Named": the recording fails and this very fault is among the causes.
"Simpler": it fails and a simpler cause explains every element too. "Not seen": it passes, and nothing is claimed.
"Undecided": within what rounding can do, so neither. "Missed" would be a visible fault that passes or fails without a cause.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.diagnosis import test_fault_matrix as matrix  # noqa: E402

WORDS = ("named", "simpler", "undecided", "not seen", "missed")
DTYPES = ("float32", "bfloat16", "float16")

HEAD = """\
# Which faults a recording names

Written by `scripts/diagnosis_table.py` from the fault matrix of `tests/diagnosis`, where each of these faults is planted in a
correct NumPy run: LayerNorm and RMSNorm, widths 16, 768 and 4,096, and four kinds of rows (plain, outlier channels, means of
100 σ, rows of 1e-3). Each cell counts the recordings: **named** (the cause was found), *simpler* (another cause, a simpler one,
explains every element as well), *undecided* (no more than rounding can do), *not seen* (such a recording cannot tell, and
nothing was claimed).

Measured are the implementations that the tests run: NumPy in several summation orders, and in `make test-peers` torch,
transformers' modules and onnxruntime, all on a CPU. **GPU kernels are not measured.**

"""


def outcome(fault: str, kind: str, out: str, d: int, name: str) -> str:
    """What became of one planted fault."""
    planted = matrix.FAULTS[fault]
    norm = matrix.norm_of(kind, out, d, planted.offset)
    x = matrix.rows(norm, name, d)
    suspect = matrix.suspect_of(norm, x, planted.run(x, norm), out)
    found = matrix.compared(suspect, out)
    if found.status == "pass":
        return "missed" if matrix.certainly_visible(planted, suspect, x) else "not seen"
    if any(each.name.startswith(matrix.told(planted, norm, d)) for each in found.explained_by):
        return "named"
    if found.explained_by:
        return "simpler"
    return "undecided" if found.status == "skip" else "missed"


def table() -> str:
    """The document."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for fault, kind, out, d, name in matrix.cells():
        counts.setdefault((fault, out), Counter())[outcome(fault, kind, out, d, name)] += 1
    lines = ["| fault | " + " | ".join(DTYPES) + " |", "|---" * (len(DTYPES) + 1) + "|"]
    for fault in matrix.FAULTS:
        cells = []
        for out in DTYPES:
            seen = counts.get((fault, out), Counter())
            told = [
                f"**{seen[word]} named**" if word == "named" else f"{seen[word]} {word}" for word in WORDS if seen[word]
            ]
            cells.append(", ".join(told) or "–")
        lines.append(f"| {fault} | " + " | ".join(cells) + " |")
    total = sum(counts.values(), Counter())
    summary = ", ".join(f"{total[word]:,} {word}" for word in WORDS)
    return HEAD + "\n".join(lines) + f"\n\nIn all {sum(total.values()):,} recordings: {summary}.\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "diagnosis.md"
    target.write_text(table(), encoding="utf-8")
