"""Numbers that nobody expects are judged like all others: no warning of NumPy's, no traceback, no number told as another."""

import json
import subprocess
import sys

import numpy as np
import pytest

from ln_audit.audit import audit
from ln_audit.demand import Demand
from tests.shared import FIXTURES

GOOD, NOT_FINITE = FIXTURES / "good" / "gpt2-recorded", FIXTURES / "bad" / "LN101-not-finite"
CONFIG = json.loads((GOOD / "config.json").read_text())


@pytest.fixture
def model(tmp_path):
    """A copy of the good model whose final gain [8] is `change`d."""
    from safetensors.numpy import load_file, save_file

    def made(change, **config):
        folder = tmp_path / "model"
        folder.mkdir()
        tensors = load_file(GOOD / "model.safetensors")
        tensors["transformer.ln_f.weight"] = change(tensors["transformer.ln_f.weight"])
        save_file(tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(CONFIG | config))
        return str(folder)

    return made


@pytest.mark.parametrize(
    ("artifact", "source", "expect", "word"),
    [
        (NOT_FINITE, GOOD, "same", "fail"),
        (NOT_FINITE, GOOD, "derived", "fail"),  # a fine-tune that diverged
        (GOOD, NOT_FINITE, "same", "fail"),
        (GOOD, NOT_FINITE, "derived", "pass"),  # values may have moved, and those of the artifact are numbers
    ],
)
def test_values_that_are_not_finite_are_held_to_a_source_like_others(artifact, source, expect, word):
    (report,) = audit(str(artifact), Demand(against=str(source), expect=expect))
    assert report.verdict.word == word


def test_a_signalling_nan_is_not_finite_and_nothing_else(model):
    def signalling(gain):
        gain.view(np.uint32)[3] = 0x7F800001
        return gain

    command = [sys.executable, "-W", "error", "-m", "ln_audit", "verify", model(signalling), "--quiet"]
    for more in ([], ["--against", str(GOOD)]):
        made = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert (made.returncode, made.stderr) == (1, "")
        assert "expected finite values, found 1 NaN, first at [3]" in made.stdout


def test_an_offset_beyond_float32_is_judged_without_a_warning():
    command = [sys.executable, "-W", "error", "-m", "ln_audit", "verify", str(GOOD), "--offset", "1e300", "--quiet"]
    made = subprocess.run(
        [*command, "--recording", str(GOOD / "run.safetensors")], capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stderr) == (1, "")


@pytest.mark.parametrize("written", ["abc", None, True, [], "1e-05"])
def test_an_epsilon_of_the_config_that_is_no_number_is_wrong_whatever_the_caller_says(model, written):
    (report,) = audit(model(lambda gain: gain, layer_norm_epsilon=written), Demand(eps=1e-5))
    assert [each.status for each in report.findings if each.name == "wrong-epsilon"] == ["fail"]


def test_a_factor_of_nearly_one_is_not_told_as_one(model):
    folder = model(lambda gain: (gain * np.float32(1.00001)).astype(np.float32))
    (report,) = audit(folder, Demand(against=str(GOOD)))
    told = [each.message for each in report.findings if each.name == "differs-from-source" and each.status == "fail"]
    assert told
    assert not [each for each in told if "times 1 in" in each or "ratio 1 to 1" in each]
    (report,) = audit(str(FIXTURES / "good" / "nemotron-safetensors"), Demand(offset=1.0000001))
    assert [each.message for each in report.findings if each.rule == "LN009" and each.status == "fail"] == [
        "nemotron: gain offset: expected 1.0000001 (--offset), found 1"
    ]
