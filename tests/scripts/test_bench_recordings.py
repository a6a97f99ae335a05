"""What is timed beside ours is a judgement too: each of the codes passes on an honest recording and fails on a faulty one."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))  # scripts import each other as scripts do
bench_recordings = importlib.import_module("bench_recordings")

CODES = {
    "ours": (bench_recordings._OURS, "any"),
    "textbook": (bench_recordings._FILES + bench_recordings._TEXTBOOK, "100"),
    "assert_allclose": (bench_recordings._FILES + bench_recordings._ALLCLOSE, "100"),
}


@pytest.fixture
def folder(tmp_path):
    code = bench_recordings._WRITE.replace(str(bench_recordings.POSITIONS), "1000")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    return tmp_path


def measured(folder, name):
    code, argument = CODES[name]
    command = bench_recordings._command(name, folder, code, argument)
    return subprocess.run(command.args, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CODES)
def test_it_reports_how_long_an_honest_recording_took(folder, name):
    run = measured(folder, name)
    assert run.stderr == ""
    found = json.loads(run.stdout)
    assert found["positions"] in {100, 1000}
    assert found["seconds"] > 0
    assert bench_recordings._rate(found) == found["positions"] * 768 * 8 / found["seconds"] / 1e9


@pytest.mark.parametrize("name", CODES)
def test_a_faulty_recording_ends_the_benchmark(folder, name):
    after = np.load(folder / "after.npy", mmap_mode="r+")
    after[50, 3] += 0.01
    after.flush()
    assert measured(folder, name).returncode != 0
