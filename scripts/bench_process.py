"""Run whole processes and measure seconds and peak memory; interleaved, so that a noisy neighbour hits all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Run:
    """One process: wall-clock seconds from start to end, peak resident bytes, and what it printed."""

    seconds: float
    peak_bytes: int
    stdout: str


@dataclass(frozen=True)
class Command:
    """What to run; `env` is added to the environment."""

    name: str
    args: Sequence[str]
    env: dict[str, str]


# What would make every start compile or flush anew, or NumPy's BLAS take the code of another processor than this one.
DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def environment(extra: dict[str, str]) -> dict[str, str]:
    """The environment of this process without what would distort a measurement."""
    kept = {k: v for k, v in os.environ.items() if k not in DROPPED}
    return kept | extra


def run(command: Command) -> Run:
    """Run once. A command that does not exit with 0 ends the benchmark: a time of a failure is no result.

    The peak is the kernel's, which counts this process's own memory too, as the child is born from it: hence no heavy
    import here.
    """
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command.args, env=environment(command.env), stdout=subprocess.PIPE, stderr=errors)
        assert child.stdout is not None
        stdout = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.stdout.close()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            said = (stdout + errors.read()).decode(errors="replace")
            sys.exit(f"{command.name}: expected exit code 0, found {child.returncode}\n{said}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in kilobytes elsewhere
    return Run(seconds, usage.ru_maxrss * unit, stdout.decode())


def interleaved(commands: Sequence[Command], times: int) -> list[list[Run]]:
    """Each command once to write its byte code, then all in turn, `times` times. One list of runs per command."""
    for command in commands:
        run(command)
    turns = [[run(command) for command in commands] for _ in range(times)]
    return [list(runs) for runs in zip(*turns, strict=True)]


def median_seconds(runs: Sequence[Run]) -> float:
    """The median wall-clock time."""
    return statistics.median(each.seconds for each in runs)
