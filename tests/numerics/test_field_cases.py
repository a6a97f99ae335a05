"""Bug reports from the field, and a GPT that others trained and recorded: the verdict of the numbers alone."""

import json
from pathlib import Path

import numpy as np
import pytest

from ln_audit.comparison import Nonfinite
from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from tests.numerics.runs import BF16, ArrayRows

SHARED = Path(__file__).resolve().parents[3] / "shared"
CASES = ("BR-01", "BR-03a", "BR-21", "BR-22d", "BR-25", "BR-26", "BR-31", "BR-33", "BR-35", "BR-66")

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the cases lie in ../shared, which is not here")


def tensors(file):
    raw = file.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = {"F32": "<f4", "BF16": BF16}[entry["dtype"]]
        found[name] = np.frombuffer(raw[8 + length + begin : 8 + length + end], dtype=dtype)
    return found


def parameters(folder):
    config = json.loads((folder / "config.json").read_text())
    held = tensors(folder / "model.safetensors")
    match config["model_type"]:
        case "gpt2":
            gain, bias = held["transformer.ln_f.weight"], held["transformer.ln_f.bias"]
            return NormParameters("layer_norm", gain, bias, config["layer_norm_epsilon"], chain="once")
        case "llama":
            return NormParameters(
                "rms_norm", held["model.norm.weight"], None, config["rms_norm_eps"], chain="before_gain"
            )
        case _:
            gain, bias = held["model.norm.weight"], held["model.norm.bias"]
            return NormParameters("layer_norm", gain, bias, config["norm_eps"], 1.0, "once")


@pytest.mark.parametrize("case", CASES)
def test_a_report_from_the_field_gets_the_verdict_it_deserves(case):
    folder = SHARED / "cases" / case
    expected = json.loads((folder / "expect.json").read_text())
    args = expected["args"]
    rows = ArrayRows(np.load(folder / "before.npy"), np.load(folder / "after.npy"))
    dtype = args[args.index("--output-dtype") + 1] if "--output-dtype" in args else None
    found = compare(rows, parameters(folder / "ckpt"), norm="", recording=case, provenance="", output_dtype=dtype)
    assert found.status == expected["expect"]


def test_an_overflowed_input_is_told_with_its_position():
    folder = SHARED / "cases" / "BR-31"
    rows = ArrayRows(np.load(folder / "before.npy"), np.load(folder / "after.npy"))
    found = compare(rows, parameters(folder / "ckpt"), norm="", recording="", provenance="")
    assert found.finding == "nonfinite-input"
    assert found.nonfinite == Nonfinite(nan=0, inf=1, first=(2, 7), where="before")


@pytest.mark.parametrize(("eps", "status"), [(1e-5, "pass"), (1e-6, "fail")])
def test_a_gpt_trained_and_recorded_by_others_agrees_with_its_epsilon_only(eps, status):
    folder = SHARED / "real" / "gpt-nano-sort"
    held = tensors(folder / "model.safetensors")
    norm = NormParameters("layer_norm", held["transformer.ln_f.weight"], held["transformer.ln_f.bias"], eps)
    rows = ArrayRows(np.load(folder / "before.npy"), np.load(folder / "after.npy"))
    found = compare(rows, norm, norm="", recording="", provenance="")
    assert (found.status, found.positions, found.elements) == (status, 33, 1584)
