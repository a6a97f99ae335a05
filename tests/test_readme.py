"""README is true beyond its commands (tests/docs/test_pages.py runs those): its top, its options, its links, its length."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.runner.blocks import blocks
from tests.shared import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = [(block.language, block.text) for block in blocks(ROOT / "README.md", "README.md")]
NEED_TORCH = [
    line
    for _, block in BLOCKS
    for line in block.splitlines()
    if re.search(r"^ln-audit (record |.* --record( |$))", line)
]  # run by tests/peers/test_readme_record.py


def run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = str(Path(sys.executable).with_name("ln-audit"))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    return subprocess.run(
        [script, *shlex.split(command)[1:]], cwd=cwd, env=clean, capture_output=True, text=True, timeout=60, check=False
    )


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
