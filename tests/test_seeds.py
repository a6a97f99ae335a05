"""The four rows that this project began with; each must work."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from ln_audit.trace.tracing import told, traced
from tests.numerics.runs import ArrayRows as Recorded
from tests.shared import FIXTURES, needs


def openai_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray, epsilon: np.float32) -> np.ndarray:
    """The operations of gpt-2's `src/model.py` `norm`, in float32: u, s = mean((x − u)²), (x − u)·rsqrt(s + ε), ·g + b."""
    u = x.mean(-1, keepdims=True)
    s = np.square(x - u).mean(-1, keepdims=True)
    return (x - u) * (np.float32(1) / np.sqrt(s + epsilon)) * g + b


def test_1_openais_norm_agrees_with_the_reference_on_the_real_parameters():
    norms = load_file(needs("real", "gpt2-small", "norms.safetensors"))
    states = load_file(FIXTURES.parent / "ln_audit" / "assets" / "gpt2-small.recording.safetensors")["before"]
    for name in ("ln_f", "h.0.ln_1", "h.11.ln_2"):
        gain, bias = norms[f"{name}.weight"], norms[f"{name}.bias"]
        after = openai_norm(states, gain, bias, np.float32(1e-5))
        found = compare(
            Recorded(states, after), NormParameters("layer_norm", gain, bias, 1e-5), norm=name, recording="src/model.py", provenance="computed here"
        )  # fmt: skip
        assert (found.status, found.unjudged, found.elements) == ("pass", 0, states.size)
        wrong = compare(
            Recorded(states, after), NormParameters("layer_norm", gain[::-1].copy(), bias, 1e-5), norm=name, recording="x", provenance="x"
        )  # fmt: skip
        assert wrong.status == "fail"


def test_2_a_real_forward_pass_of_the_sample_agrees_and_with_any_norm_parameter_moved_it_does_not(tmp_path):
    """The recording is transformers' own (tests/peers makes it again); here the checkpoint under it is perturbed."""
    sample = FIXTURES.parent / "ln_audit" / "assets" / "sample"
    (report,) = audit("sample", Demand())
    assert [c.status for c in report.comparisons] == ["pass"]
    shutil.copy(sample / "config.json", tmp_path)
    tensors = load_file(sample / "model.safetensors")
    for leaf in ("weight", "bias"):
        moved = tensors[f"transformer.ln_f.{leaf}"].copy()
        moved[7] *= np.float32(1.0001)
        save_file(tensors | {f"transformer.ln_f.{leaf}": moved}, tmp_path / "model.safetensors")
        before = load_file(sample / "recording.safetensors")
        save_file(
            {name: before[name] for name in ("before", "after")}, tmp_path / "run.safetensors"
        )  # without its digests
        (perturbed,) = audit(
            str(tmp_path / "model.safetensors"), Demand(recordings=(str(tmp_path / "run.safetensors"),))
        )
        assert [(f.rule, f.status) for f in perturbed.findings if f.status == "fail"] == [("LN201", "fail")]


def test_3_the_accounting_is_counted_from_tensors_not_from_the_width():
    (report,) = audit(str(FIXTURES / "good" / "gpt2-safetensors"), Demand())
    assert [f.message for f in report.findings if f.rule == "LN005"] == [
        "16 parameters (gain 8 + bias 8), counted from checkpoint tensors",
        "80 parameters, counted from checkpoint tensors",
    ]
    (halved,) = audit(str(FIXTURES / "bad" / "LN002-wrong-shape-half"), Demand())
    assert halved.parameters.final_norm == 12


def test_3_gpt2_small_has_1536_in_its_final_norm():
    facts = json.loads(needs("real", "gpt2-small", "facts.json").read_text())
    norms = load_file(needs("real", "gpt2-small", "norms.safetensors"))
    assert norms["ln_f.weight"].size + norms["ln_f.bias"].size == 1536
    assert sum(array.size for array in norms.values()) == 38_400
    assert facts["parameters"] == 124_439_808


def test_4_the_pre_norm_stack_shows_its_magnitudes_in_before_and_out():
    text = told(traced(str(FIXTURES / "recordings" / "prenorm-stack.safetensors"), None, Demand()), "text")
    lines = {line.split()[0]: line.split()[1] for line in text.splitlines() if line.startswith("  ")}
    assert [lines[name] for name in ("hidden_states.0", "before", "after")] == ["7.78", "8.68", "8.00"]
    assert all(f"hidden_states.{layer} " in text for layer in range(12))


@pytest.mark.parametrize(("eps", "verdict"), [(1e-5, "pass"), (1e-6, "fail")])
def test_a_model_trained_and_recorded_by_others_tells_its_epsilon(eps, verdict):
    folder = needs("real", "gpt-nano-sort")
    demand = Demand(family="gpt2", eps=eps, before=str(folder / "before.npy"), after=str(folder / "after.npy"))
    (report,) = audit(str(folder / "model.safetensors"), demand)
    assert report.verdict.word == verdict
    assert (report.parameters.final_norm, report.parameters.checkpoint) == (96, 85_584)
    assert replace(report, comparisons=()).verdict.word == verdict
