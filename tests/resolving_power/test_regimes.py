"""Why a fault does not show: these rows, rows of another kind, or because it is none."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.diagnosis import another_epsilon, missing_parameters, one_pass, other_kind, overflow
from ln_audit.diagnosis.hypothesis import Batch, Fault, with_parameters
from ln_audit.numerics.floats import float64
from ln_audit.resolving_power.regimes import Regimes
from tests.numerics.runs import rows_of
from tests.resolving_power.recorded import norm, suspected


def of(hypothesis, out="float32", d=48, **changes):
    """The regime of each of a hypothesis' faults for this norm, had the recording not shown it."""
    x = float64(rows_of("plain", d, 8))
    suspect, ways = suspected(x, norm(d, **changes), out)
    made = Regimes(suspect, ways, suspect.chains, 0)
    batch = Batch(np.arange(8), x)
    return {fault.name: made.of(fault) for fault in hypothesis.faults(suspect, batch) if hypothesis.applies(suspect)}


@pytest.mark.parametrize("out", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("d", [4, 48, 4096])
def test_a_fault_of_every_row_is_hidden_by_these_rows(kind, out, d):
    for hypothesis in (another_epsilon, missing_parameters, other_kind):
        assert set(of(hypothesis, out, d, kind=kind).values()) == {"these rows"}, hypothesis.NAME


def test_what_strikes_large_rows_only():
    assert set(of(overflow).values()) == {"large rows", "none"}  # no row that anybody records overflows float32
    assert of(one_pass) == {"variance in one pass": "large rows"}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"gain": np.ones(48)}, "gain missing"),
        ({"bias": np.zeros(48)}, "bias missing"),
        ({"gain": np.full(48, -0.0), "bias": np.zeros(48)}, "gain and bias swapped"),
    ],
)
def test_the_same_function_is_no_fault(changes, fault):
    assert of(missing_parameters, **changes)[fault] == "none"
    assert of(missing_parameters)[fault] == "these rows"


def test_an_honest_rounding_of_the_parameters_is_no_fault():
    x = float64(rows_of("plain", 48, 8))
    suspect, ways = suspected(x, norm(48), "bfloat16")
    rounded = replace(suspect.parameters, gain=ways[1].form.gain, bias=ways[1].form.bias)
    fault = Fault("cast", "", with_parameters(suspect, rounded))
    assert Regimes(suspect, ways, suspect.chains, 0).of(fault) == "none"


def test_a_norm_of_width_one_has_no_epsilon_to_get_wrong():
    found = of(another_epsilon, d=1)
    assert found.pop("epsilon 0 instead of 1e-05") == "these rows"  # 0 · ∞
    assert set(found.values()) == {"none"}
    assert set(of(another_epsilon, d=1, kind="rms_norm").values()) == {"these rows"}
