"""What counts as seen: the right rule with the right explanation, of exactly the norms that were struck."""

from types import SimpleNamespace

import numpy as np
import pytest

from ln_audit.result import Rule, Verdict
from scripts.source_faults.artifacts import converted
from scripts.source_faults.faults import Planted
from scripts.source_faults.models import SPECS, build
from scripts.source_faults.registry import FAULTS, Fault, Seen
from scripts.source_faults.trial import WAYS, judged

SOURCE = Rule("LN301", "differs-from-source")
MODEL = converted(build(SPECS["gpt2"]), "safetensors")
FAULT = Fault("gain + 1", "+1", lambda _: None, Seen("fail", explanation="offset"))
NORMS = ("ln_f", "h.0.ln_1")


def report(*findings, verdict=Verdict.FAIL):
    norms = [SimpleNamespace(norm=SimpleNamespace(name=f"t.{name}", promised=name)) for name in NORMS]
    return SimpleNamespace(error=None, verdict=verdict, findings=findings, norms=norms)


def word(*findings, struck=("ln_f",), verdict=Verdict.FAIL):
    return judged(FAULT, Planted(MODEL, struck), report(*findings, verdict=verdict), WAYS[0])[0]


FINAL = SOURCE.failed("t.ln_f", "differs", explanation="offset")


def test_the_right_norm_with_the_right_explanation_is_named():
    assert word(FINAL) == "named"


@pytest.mark.parametrize(
    "findings",
    [
        (SOURCE.failed("t.ln_f", "differs", explanation="factor"),),
        (SOURCE.failed("t.ln_f", "differs"),),
        (SOURCE.failed("t.h.0.ln_1", "differs", explanation="offset"),),
        (FINAL, SOURCE.failed("t.h.0.ln_1", "differs", explanation="offset")),
        (Rule("LN102", "zero-gain").failed("t.ln_f", "zero"),),
    ],
)
def test_another_explanation_or_another_norm_is_another_cause(findings):
    assert word(*findings) == "other cause"


def test_half_of_what_was_struck_is_another_cause_and_a_pass_is_a_miss():
    assert word(FINAL, struck=NORMS) == "other cause"
    assert word(verdict=Verdict.PASS) == "missed"


def _bytes(artifact):
    held = {name: array.tobytes() for name, array in artifact.tensors.items()}
    return held, artifact.config, artifact.facts, artifact.held


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.short)
def test_a_planted_fault_changes_something_and_leaves_the_healthy_artifact_alone(fault):
    for container in ("safetensors", "gguf"):
        healthy = converted(build(SPECS["gemma2"]), container)
        before = {name: array.copy() for name, array in healthy.tensors.items()}
        planted = fault.plant(healthy)
        assert all(np.array_equal(before[name], array) for name, array in healthy.tensors.items())
        if planted is not None:
            assert _bytes(planted.artifact) != _bytes(healthy)
