"""One norm out of five gigabytes of GGUF or .bin, side by side with safetensors and with the formats' own libraries."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench_process import Command, interleaved, median_seconds
from bench_table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_OURS = """
from ln_audit.formats.{format} import read_checkpoint
from ln_audit.sources.local import open_source
from ln_audit.sources.settings import Settings
stored = read_checkpoint(open_source({folder!r}, Settings()), {file!r}).read([{tensor!r}])
assert len(stored[{tensor!r}].data) == {size}
"""
_GGUF = """
from gguf import GGUFReader
[found] = [t for t in GGUFReader({file!r}).tensors if t.name == {tensor!r}]
assert found.data.nbytes == {size}
"""
_TORCH = """
import torch
found = torch.load({file!r}, mmap=True, weights_only=True)[{tensor!r}]
assert found.clone().nbytes == {size}
"""


def containers(_layout: Path) -> Iterator[Row]:
    """The rows of both formats: at most 1.5 times the same read from safetensors, and 64 MB of memory."""
    with tempfile.TemporaryDirectory() as made:
        write("sparse_gguf.py", made)
        files = (Path(made) / "model.gguf", Path(made) / "model.safetensors")
        yield from side_by_side(*files, "gguf", "output_norm.weight", 16384, ("gguf", "GGUFReader", _GGUF))
    with tempfile.TemporaryDirectory() as made:
        write("sparse_torch.py", made)
        files = (Path(made) / "bin" / "pytorch_model.bin", Path(made) / "safetensors" / "model.safetensors")
        yield from side_by_side(*files, "torch_pickle", "ln_f.weight", 6400, ("torch", "torch.load(mmap)", _TORCH))


def write(script: str, dest: str) -> None:
    """Write the sparse files in a process of its own, whose memory is not counted with that of the children."""
    subprocess.run([sys.executable, str(_HERE / script), dest], check=True)


def side_by_side(
    file: Path, same: Path, form: str, tensor: str, size: int, peer: tuple[str, str, str]
) -> Iterator[Row]:
    """One norm of `file`, and of the same tensors as safetensors, and by the peer's (library, name, code) if installed."""
    commands = []
    for each, name in ((file, form), (same, "safetensors")):
        code = _OURS.format(format=name, folder=str(each.parent), file=each.name, tensor=tensor, size=size)
        commands.append(Command(name, (sys.executable, "-c", code), {}))
    library, title, code = peer
    if importlib.util.find_spec(library) is not None:
        read = code.format(file=str(file), tensor=tensor, size=size)
        commands.append(Command(title, (sys.executable, "-c", read), {}))
    else:
        print(f"containers: {title} skipped, {library} is not installed", file=sys.stderr)
    ours, whole, *theirs = interleaved(commands, times=11)
    what = f"one norm of 5 GB of {file.suffix}"
    yield Row.at_most(f"{what}, peak memory", max(run.peak_bytes for run in ours) / 1e6, "MB", limit=64)
    yield Row.slower(f"{what} / of safetensors", median_seconds(ours), median_seconds(whole), limit=1.5)
    for runs in theirs:
        yield Row.slower(f"{what} / {title}", median_seconds(ours), median_seconds(runs), limit=1)
