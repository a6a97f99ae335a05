"""Measure reading one norm out of a GGUF file of five gigabytes, side by side with safetensors and gguf.GGUFReader.

    python scripts/bench_gguf.py [TOKENS]     # a tokenizer of so many strings is in the GGUF file; none by default

Whole processes, fresh each time, interleaved, medians. Exits 1 when a limit is missed. The limits: 1.5 times the same
read from safetensors (without a tokenizer, which safetensors have not), and 64 MB of memory.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_process import Command, interleaved, median_seconds
from bench_table import Row, render

_WRITER = Path(__file__).with_name("sparse_gguf.py")
_OURS = """
from ln_audit.formats.{format} import read_checkpoint
from ln_audit.sources.local import open_source
from ln_audit.sources.settings import Settings
stored = read_checkpoint(open_source({folder!r}, Settings()), "model.{format}").read(["output_norm.weight"])
assert len(stored["output_norm.weight"].data) == 16384
"""
_PEER = """
from gguf import GGUFReader
[found] = [t for t in GGUFReader({folder!r} + "/model.gguf").tensors if t.name == "output_norm.weight"]
assert found.data.nbytes == 16384
"""


def python(name: str, code: str) -> Command:
    """`python -c code` with this interpreter."""
    return Command(name, (sys.executable, "-c", code), {})


def measure(folder: Path, tokens: int) -> list[Row]:
    """The rows of the table."""
    commands = [python(name, _OURS.format(format=name, folder=str(folder))) for name in ("gguf", "safetensors")]
    if importlib.util.find_spec("gguf") is not None:
        commands.append(python("gguf.GGUFReader", _PEER.format(folder=str(folder))))
    ours, same, *reader = interleaved(commands, times=15)
    rows = [Row.at_most("one norm of 5 GB of GGUF, peak memory", max(r.peak_bytes for r in ours) / 1e6, "MB", limit=64)]
    if not tokens:
        seconds = (median_seconds(ours), median_seconds(same))
        rows.append(Row.slower("one norm of 5 GB, GGUF / safetensors", *seconds, limit=1.5))
    for runs in reader:
        seconds = (median_seconds(ours), median_seconds(runs))
        rows.append(Row.slower("one norm of 5 GB, ours / gguf.GGUFReader", *seconds, limit=1))
    return rows


def main(tokens: int) -> int:
    """Prints the table; 1 when a limit was missed."""
    with tempfile.TemporaryDirectory() as folder:
        # in a process of its own, whose memory is not counted with that of the children
        subprocess.run([sys.executable, str(_WRITER), folder, str(tokens)], check=True)
        rows = measure(Path(folder), tokens)
    print(render(rows))
    return int(not all(row.kept for row in rows))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
