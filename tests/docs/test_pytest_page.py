"""docs/pytest.md is true: its tests are run, and its failure is the one that pytest shows."""

import re
import shutil

import pytest

from tests.shared import FIXTURES, ROOT

pytest_plugins = ("pytester",)

TEXT = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
CODE = [block for language, block in BLOCKS if language == "python"]
GIVEN = """
import shutil
import numpy as np
from safetensors.numpy import load_file

convert = lambda source, target: shutil.copy("path/to/artifact/model.gguf", target)
RUN = load_file("path/to/folder/run.safetensors")
batches = list(zip(RUN["before"], RUN["after"]))
run_final_norm = lambda batch: batch
x, gain, bias = np.random.default_rng(1).normal(size=(6, 16)).astype(np.float32), np.full(16, 0.5, np.float32), np.ones(16, np.float32)

def kernel(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * gain + bias
"""


@pytest.fixture
def here(pytester):
    from tests.test_seven_containers import gguf

    base = pytester.path / "path" / "to"
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", base / "folder")
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", base / "broken")
    (base / "artifact").mkdir()
    gguf(base / "artifact")
    return pytester


def test_its_tests_pass(here):
    here.makepyfile(GIVEN + "".join(CODE))
    made = here.runpytest_inprocess("--strict-markers", "-p", "no:cacheprovider")
    made.assert_outcomes(passed=5)
    assert sum(block.count("def test_") for block in CODE) == 5


def test_the_failure_it_shows_is_the_one_that_comes(here):
    here.makepyfile("import pytest\n@pytest.mark.ln_checkpoint('path/to/broken')\ndef test_it(): pass")
    made = here.runpytest_inprocess("-p", "no:cacheprovider")
    (shown,) = (block for language, block in BLOCKS if language == "text")
    made.stdout.fnmatch_lines([line.replace("…", "*") for line in shown.splitlines()])


def test_every_option_and_fixture_named_exists():
    from ln_audit import pytest_plugin
    from ln_audit.errors import UsageError
    from ln_audit.in_process import demand

    with pytest.raises(UsageError) as raised:
        demand("sample", none=1)
    known = set(re.findall(r"\w+", raised.value.message))
    assert {"against", "lock", "recording", "require", "strict", "values", "family"} <= known
    for name in ("ln_report", "ln_reports", "ln_verify", "norm_recording"):
        assert f"`{name}" in TEXT
        assert hasattr(pytest_plugin, name)
