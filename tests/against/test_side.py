"""What was read of a norm, as it is stored and as the model computes with it."""

from dataclasses import replace

import numpy as np

from ln_audit.against.side import held
from ln_audit.core import Stored
from tests.against.made import GAIN, norm, side


def test_a_parameter_is_stored_and_effective():
    found = held(side({"norm.weight": GAIN}), norm(weight_offset=1.0), "gain")
    assert found is not None
    assert np.array_equal(found.stored, GAIN)
    assert np.array_equal(found.exact, GAIN.astype(np.float64) + 1)
    assert (found.dtype, found.step) == ("F32", 2.0**-23)


def test_what_was_not_read_or_is_quantized_is_none():
    made = side({"norm.weight": GAIN})
    assert held(made, norm(gain="other.weight"), "gain") is None
    assert held(made, norm(), "bias") is None
    inexact = replace(made, values={"norm.weight": Stored("F32", (8,), GAIN.tobytes(), exact=False)})
    assert held(inexact, norm(), "gain") is None
    assert side({}, norm()).file == "model.safetensors"


def test_an_offset_belongs_to_the_gain_alone():
    found = held(side({"norm.bias": GAIN}), norm(bias=True, weight_offset=1.0), "bias")
    assert found is not None
    assert np.array_equal(found.exact, GAIN.astype(np.float64))
