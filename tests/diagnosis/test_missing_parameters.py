from typing import Any

import pytest

from ln_audit.diagnosis import missing_parameters
from tests.diagnosis.suspects import BEFORE, BIAS, GAIN, batch, layer_norm, reference, suspect, told

RUNS: dict[str, dict[str, Any]] = {
    "gain missing": {"gain": None},
    "bias missing": {"bias": None},
    "gain and bias missing": {"gain": None, "bias": None},
    "gain and bias swapped": {"gain": BIAS, "bias": GAIN},
}


@pytest.mark.parametrize("name", RUNS)
def test_what_was_left_out_is_named(name):
    assert told(missing_parameters, suspect(reference(BEFORE, layer_norm(**RUNS[name])))) == [name]


def test_an_offset_belongs_to_the_gain_and_goes_with_it():
    of = suspect(reference(BEFORE, layer_norm(gain=None)), parameters=layer_norm(weight_offset=1.0))
    assert told(missing_parameters, of) == ["gain missing"]


def test_only_what_the_norm_has_can_be_missing():
    of = suspect(BEFORE, parameters=layer_norm(bias=None))
    assert [fault.name for fault in missing_parameters.faults(of, batch(of))] == ["gain missing"]
    assert not missing_parameters.applies(suspect(BEFORE, parameters=layer_norm(gain=None, bias=None)))
