"""README is true: its commands run, its output is the real one, its tables are the program's."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition(" #")[0].strip()
    for language, block in BLOCKS
    for line in block.splitlines()
    if not language and line.startswith("ln-audit ")
]
# Placeholders stand for files and models that a reader has; each becomes one that ships here.
STANDS_FOR = {
    "path/to/folder": "fixtures/good/gpt2-recorded",
    "path/to/artifact": "fixtures/good/gpt2-recorded",
    "other/model.safetensors": "fixtures/good/gpt2-safetensors",
    "run.safetensors": "fixtures/good/gpt2-recorded/run.safetensors",
    "before.npy": "before.npy",
    "ln-audit.lock": "fixtures/good/gpt2-locked/ln-audit.lock",
}
NEED_TORCH = [
    c for c in COMMANDS if re.search(r" record | --record( |$)", c)
]  # run by tests/peers/test_readme_record.py
REMOTE = [c for c in COMMANDS if "families" not in c and re.search(r" (gpt2|org/name@revision|https://host/\S*)$", c)]


def run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = str(Path(sys.executable).with_name("ln-audit"))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    return subprocess.run(
        [script, *shlex.split(command)[1:]], cwd=cwd, env=clean, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in REMOTE + NEED_TORCH])
def test_every_command_runs_and_passes(command, tmp_path):
    if "before.npy" in command:
        import numpy as np
        from safetensors.numpy import load_file

        for name, array in load_file(ROOT / "fixtures" / "good" / "gpt2-recorded" / "run.safetensors").items():
            np.save(tmp_path / f"{name}.npy", array)
            command = command.replace(f"{name}.npy", str(tmp_path / f"{name}.npy"))
    if command.startswith("ln-audit lock"):
        command = command.replace("ln-audit.lock", str(tmp_path / "ln-audit.lock"))
    for placeholder, real in STANDS_FOR.items():
        if placeholder != "before.npy":
            command = re.sub(rf"(?<![\w/.-]){re.escape(placeholder)}(?![\w/.-])", real, command)
    made = run(command, ROOT)
    assert (made.returncode, made.stderr) == (0, "")


def test_remote_commands_are_the_three_that_the_simulator_tests_run():
    assert REMOTE == [
        "ln-audit verify gpt2",
        "ln-audit verify org/name@revision",
        "ln-audit verify https://host/path/model.safetensors",
    ]


def test_the_output_shown_is_the_real_one():
    shown = next(block for _, block in BLOCKS if block.startswith("PASS  sample"))
    lines = [line for line in shown.splitlines() if line.strip() != "…"]
    assert run("ln-audit verify sample", ROOT).stdout.splitlines()[: len(lines)] == lines


def test_the_first_thirty_lines_take_a_stranger_to_a_verdict():
    top = "\n".join(README.splitlines()[:30])
    assert all(
        part in top
        for part in (
            "pip install ln-audit",
            "ln-audit verify sample",
            "PASS  sample",
            "| exit code | meaning |",
            "| 130 |",
        )
    )


def test_every_option_named_exists():
    known = run("ln-audit verify --help", ROOT).stdout + run("ln-audit record --help", ROOT).stdout
    named = set(re.findall(r"`(--[a-z-]+)", README)) - {"--help"}
    assert named - set(re.findall(r"--[a-z-]+", known)) == set()


def test_every_link_leads_somewhere():
    assert [link for link in re.findall(r"\]\((\S+?)\)", README) if not (ROOT / link.partition("#")[0]).exists()] == []


def test_the_readme_stays_short():
    assert len(README.splitlines()) < 200


def test_the_assert_for_kernels_is_one_that_can_fail():
    import numpy as np

    (block,) = (code for language, code in BLOCKS if language == "python" and "assert_norm" in code)
    x = np.random.default_rng(7).normal(size=(4, 16)).astype(np.float32)

    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(eps)) * gain + bias

    given = {"x": x, "gain": np.full(16, 0.5, np.float32), "bias": np.full(16, 0.25, np.float32)}
    exec(compile(block, "README.md", "exec"), given | {"kernel": layer_norm})
    with pytest.raises(AssertionError, match="expected"):
        exec(
            compile(block, "README.md", "exec"), given | {"kernel": lambda x, gain, bias: layer_norm(x, gain, bias, 1)}
        )
