import numpy as np
import pytest

from ln_audit.diagnosis import deviation
from tests.diagnosis.suspects import BEFORE, GAIN, batch, layer_norm, suspect, told

RECIPROCALS = {
    "variance over d − 1": lambda var, x: 1 / np.sqrt(var * 4 / 3 + 0.5),
    "epsilon outside the root": lambda var, x: 1 / (np.sqrt(var) + 0.5),
    "variance over d − 1 and epsilon outside the root": lambda var, x: 1 / (np.sqrt(var * 4 / 3) + 0.5),
    "epsilon scaled by max²": lambda var, x: 1 / np.sqrt(var + 0.5 * np.max(x * x, axis=1, keepdims=True)),
}
LARGE = layer_norm(eps=0.5)  # so that no two of them are near each other


def made(name):
    x = BEFORE.astype(np.float64)
    delta = x - x.mean(axis=1, keepdims=True)
    r = RECIPROCALS[name](np.mean(delta**2, axis=1, keepdims=True), x)
    return GAIN * delta * r + LARGE.bias


@pytest.mark.parametrize("name", RECIPROCALS)
def test_each_way_to_form_the_deviation_is_predicted_and_named(name):
    of = suspect(made(name).astype(np.float32), parameters=LARGE)
    faults = {fault.name: fault for fault in deviation.faults(of, batch(of, after=False))}
    assert list(faults) == list(RECIPROCALS)
    assert faults[name].predict(batch(of)).values == pytest.approx(made(name), rel=1e-12)
    assert told(deviation, of) == [name]


def test_a_single_channel_has_no_d_minus_1():
    of = suspect(BEFORE[:, :1], BEFORE[:, :1], layer_norm(gain=None, bias=None))
    assert [fault.name for fault in deviation.faults(of, batch(of))] == [
        "epsilon outside the root",
        "epsilon scaled by max²",
    ]


def test_it_applies_to_every_norm():
    assert deviation.applies(suspect(BEFORE))
