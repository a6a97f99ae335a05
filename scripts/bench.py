"""Measure ln-audit side by side with what people would use instead, and hold the ratios to their limits.

    python scripts/bench.py [--only start local load remote containers recordings families against]   # `make bench`: all

Whole processes, fresh each time, interleaved, medians; byte code is compiled first. Exits 1 when a limit is missed.
  start    `ln-audit --version`                                  against `python -c pass`
  local    `ln-audit verify DIR`, 548 MB laid out as GPT-2 small  against `python -c "import numpy"`; memory; bytes read
  load     the same verify                                       against transformers loading the model
  remote   `ln-audit verify gpt2` from a simulated Hub           against `hf_hub_download` of its file; bytes
  containers  one norm of five gigabytes of GGUF and .bin          against safetensors, GGUFReader, torch.load; memory
  recordings  a recording of 1.2 GB, judged                      against a textbook loop, torch, numpy.testing; memory
  families   the contract of 10,195 tensors, from recognition to the checks of structure
  against    two checkpoints of 141 GB, norm by norm               against safe_open of the same norms; diffai; memory; bytes
The simulated Hub: 50 ms per round trip, two more for a new connection, 100 Mbit/s.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sparse_layout
from bench_against import against
from bench_containers import containers
from bench_families import families
from bench_process import Command, interleaved, median_seconds, run
from bench_recordings import recordings
from bench_table import Row, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).resolve().parent.parent
_PUBLISHED_LAYOUT = _ROOT.parent / "shared" / "tools" / "make_gpt2_layout.py"
_LN_AUDIT = str(Path(sys.executable).with_name("ln-audit"))
_REPO = "openai-community/gpt2"
_FILE = "model.safetensors"


def python(name: str, code: str, **env: str) -> Command:
    """`python -c code` with this interpreter."""
    return Command(name, (sys.executable, "-c", code), env)


def verify(*args: str, **env: str) -> Command:
    """`ln-audit verify …`, which must pass."""
    return Command(f"ln-audit verify {' '.join(args)}", (_LN_AUDIT, "verify", *args), env)


def make_layout(dest: Path) -> None:
    """The published file's own layout with its real norms where that is at hand, else ours with random ones."""
    if _PUBLISHED_LAYOUT.exists():
        subprocess.run([sys.executable, str(_PUBLISHED_LAYOUT), str(dest)], check=True)
    else:
        sparse_layout.write(dest)


def bytes_read(command: Command) -> int:
    """What the run says it read, from its JSON report."""
    report = json.loads(run(Command(command.name, (*command.args, "--format", "json"), command.env)).stdout)
    return sum(each["source"]["bytes_read"] for each in report["reports"])


def start(_layout: Path) -> Iterator[Row]:
    """The cost of merely being started."""
    version = Command("ln-audit --version", (_LN_AUDIT, "--version"), {})
    ours, peer = interleaved([version, python("python -c pass", "pass")], times=31)
    yield Row.slower("--version / python -c pass", median_seconds(ours), median_seconds(peer), limit=1.5)
    library = python("from ln_audit import verify", "from ln_audit import verify")
    ours, peer = interleaved([library, python('python -c "import numpy"', "import numpy")], times=15)
    yield Row.slower(
        "from ln_audit import verify / import numpy", median_seconds(ours), median_seconds(peer), limit=1.3
    )


def local(layout: Path) -> Iterator[Row]:
    """The main job on a local file."""
    command = verify(str(layout))
    ours, peer = interleaved([command, python('python -c "import numpy"', "import numpy")], times=15)
    yield Row.slower("verify DIR / import numpy", median_seconds(ours), median_seconds(peer), limit=3.0)
    yield Row.at_most("verify DIR, peak memory", max(each.peak_bytes for each in ours) / 1e6, "MB", limit=60)
    yield Row.at_most("verify DIR, bytes read", bytes_read(command) / 1e6, "MB", limit=0.5)


def load(layout: Path) -> Iterator[Row]:
    """The main job against loading the model to look at it."""
    if importlib.util.find_spec("transformers") is None:
        print("load: skipped, transformers is not installed", file=sys.stderr)
        return
    code = f"from transformers import GPT2LMHeadModel; GPT2LMHeadModel.from_pretrained({str(layout)!r})"
    peer_command = python("transformers from_pretrained", code, HF_HUB_OFFLINE="1")
    ours, peer = interleaved([verify(str(layout)), peer_command], times=3)
    yield Row.faster("verify DIR / transformers load", median_seconds(ours), median_seconds(peer), limit=12)


def remote(layout: Path) -> Iterator[Row]:
    """The main job over the network against downloading the file."""
    with hub(layout) as endpoint, tempfile.TemporaryDirectory() as caches:
        hub_env = {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
        command = verify("gpt2", **hub_env, HF_HUB_CACHE=f"{caches}/never-written")
        [ours] = interleaved([command], times=7)
        read = bytes_read(command)
        code = f"from huggingface_hub import hf_hub_download; hf_hub_download({_REPO!r}, {_FILE!r})"
        peer = run(python("hf_hub_download", code, **hub_env, HF_HUB_CACHE=f"{caches}/download"))
    size = (layout / _FILE).stat().st_size
    yield Row.faster("verify gpt2 / hf_hub_download", median_seconds(ours), peer.seconds, limit=40)
    yield Row.fewer("verify gpt2 / hf_hub_download, bytes", read, size, limit=10_000)


@contextmanager
def hub(layout: Path) -> Iterator[str]:
    """A simulated Hub that serves `layout`; gives its endpoint."""
    simulator = [sys.executable, str(_ROOT / "tests" / "hub_simulator.py"), "--root", str(layout), "--repo", _REPO]
    network = ["--latency-ms", "50", "--mbit", "100", "--port", "0"]
    with subprocess.Popen([*simulator, *network], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "start": start,
    "local": local,
    "load": load,
    "remote": remote,
    "containers": containers,
    "recordings": recordings,
    "families": families,
    "against": against,
}


def main() -> int:
    """Measure, print the table, say by the exit code whether every limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parts = parser.parse_args().only
    compileall.compile_dir(_ROOT / "ln_audit", quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        layout = Path(folder)
        make_layout(layout)
        rows = [row for name in parts for row in PARTS[name](layout)]
    print(render(rows))
    return 0 if rows and all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
