"""`verify ARTIFACT --against SOURCE` on a pair of 141 GB, beside reading the same norms with safe_open; and beside diffai."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import sparse_layout
from bench_process import Command, interleaved, median_seconds, run
from bench_table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
PEERS = Path(sys.prefix) / "bench-peers" / "bin" / "python"  # the environment that `make bench-peers` makes
_SAFE_OPEN = """
import json, ml_dtypes, pathlib, numpy
from safetensors import safe_open
sides = []
for folder in map(pathlib.Path, {folders!r}):
    held, shards = {{}}, {{}}
    for name, file in json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"].items():
        if "norm" in name:
            shards.setdefault(file, []).append(name)
    for file, names in shards.items():
        with safe_open(folder / file, framework="numpy") as opened:
            held |= {{name: opened.get_tensor(name) for name in names}}
    sides.append(held)
assert len(sides[0]) == 161
assert all(numpy.array_equal(sides[0][name], sides[1][name]) for name in sides[0])
"""
_DIFFAI = "import diffai; assert diffai.diff_paths({left!r}, {right!r}) == []"


def against(_layout: Path) -> Iterator[Row]:
    """The rows: seconds, memory and bytes of the large pair, both ratios."""
    ln_audit = str(Path(sys.executable).with_name("ln-audit"))
    with tempfile.TemporaryDirectory() as made:
        pair = [str(Path(made) / name) for name in ("artifact", "source")]
        for folder in pair:
            subprocess.run([sys.executable, str(_HERE / "sparse_llama.py"), folder], check=True)
        verify = Command("verify --against", (ln_audit, "verify", pair[0], "--against", pair[1]), {})
        peer = Command("safe_open", (sys.executable, "-c", _SAFE_OPEN.format(folders=pair)), {})
        ours, theirs = interleaved([verify, peer], times=5)
        read = bytes_read(verify)
    what = "two of 141 GB, 161 norms"
    yield Row.at_most(f"{what}: verify --against", median_seconds(ours), "s", limit=3)
    yield Row.at_most(f"{what}: peak memory", max(each.peak_bytes for each in ours) / 1e6, "MB", limit=60)
    yield Row.at_most(f"{what}: read of both", read / 1e6, "MB", limit=7)
    yield Row.slower(f"{what}: / safe_open of the same norms", median_seconds(ours), median_seconds(theirs), limit=8)
    with tempfile.TemporaryDirectory() as folder:
        sparse_layout.write(Path(folder))
        yield from _beside_diffai(Path(folder), ln_audit)


def bytes_read(command: Command) -> int:
    """Of both sides, from the JSON report."""
    report = json.loads(run(Command(command.name, (*command.args, "--format", "json"), command.env)).stdout)
    (each,) = report["reports"]
    return int(each["source"]["bytes_read"] + each["against"]["source"]["bytes_read"])


def _beside_diffai(layout: Path, ln_audit: str) -> Iterator[Row]:
    """It loads both files whole, so that GPT-2 small's size has to do; in a layout of ours, as it panics at the published
    file, whose tensors lie at addresses that four does not divide.
    """
    if not PEERS.exists():
        print("against: diffai skipped, `make bench-peers` installs it", file=sys.stderr)
        return
    file = str(layout / "model.safetensors")
    peer = Command("diffai", (str(PEERS), "-c", _DIFFAI.format(left=file, right=file)), {})
    verify = Command("verify --against", (ln_audit, "verify", str(layout), "--against", str(layout)), {})
    ours, theirs = interleaved([verify, peer], times=3)
    yield Row.faster("two of 548 MB: verify --against / diffai", median_seconds(ours), median_seconds(theirs), limit=2)
    memory = [max(each.peak_bytes for each in runs) / 1e6 for runs in (ours, theirs)]
    yield Row.figure(
        "two of 548 MB: memory / diffai", *(f"{each:.0f} MB" for each in memory), f"1/{memory[1] / memory[0]:.1f}"
    )
