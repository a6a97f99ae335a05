import numpy as np
import pytest

from ln_audit.diagnosis import wrong_axis
from tests.diagnosis.suspects import layer_norm, suspect, told
from tests.numerics.runs import F32, rows_of

X = rows_of("plain", 16, 12).reshape(3, 4, 16) + F32(0.5)
NORM = layer_norm(gain=np.linspace(0.5, 2, 16).astype(F32), bias=None)


def over(axis, kind="layer_norm"):
    x = X.astype(np.float64)
    delta = x - x.mean(axis=axis, keepdims=True) if kind == "layer_norm" else x
    return (NORM.gain * delta / np.sqrt(np.mean(delta**2, axis=axis, keepdims=True) + 1e-5)).astype(F32)


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize(
    ("axis", "name"),
    [
        ((0, 1), "normed over all positions"),
        ((0, 1, 2), "normed over all positions and channels at once"),
        (1, "normed over the 4 positions of a sequence"),
        ((1, 2), "normed over the 4 positions of a sequence and channels at once"),
    ],
)
def test_the_axis_is_named(axis, name, kind):
    assert told(wrong_axis, suspect(over(axis, kind), X, layer_norm(kind=kind, gain=NORM.gain, bias=None))) == [name]


def test_the_last_axis_is_the_right_one():
    assert told(wrong_axis, suspect(over(2), X, NORM)) == []


def test_it_applies_from_two_positions_on():
    assert wrong_axis.applies(suspect(X, X, NORM))
    assert not wrong_axis.applies(suspect(X[:1, :1], X[:1, :1], NORM))
