"""What was read of a norm, as it is stored and as the model computes with it."""

from dataclasses import replace

import numpy as np

from ln_audit.against.side import parameter
from ln_audit.core import Stored
from tests.against.made import GAIN, norm, side


def test_a_parameter_is_stored_and_effective():
    found = parameter(side({"norm.weight": GAIN}), "norm.weight", 1.0)
    assert found is not None
    assert np.array_equal(found.stored, GAIN)
    assert np.array_equal(found.exact, GAIN.astype(np.float64) + 1)
    assert (found.dtype, found.step) == ("F32", 2.0**-23)


def test_what_was_not_read_or_is_quantized_is_none():
    made = side({"norm.weight": GAIN})
    assert parameter(made, "other.weight", 0.0) is None
    assert parameter(made, None, 0.0) is None
    inexact = replace(made, values={"norm.weight": Stored("F32", (8,), GAIN.tobytes(), exact=False)})
    assert parameter(inexact, "norm.weight", 0.0) is None
    assert side({}, norm()).file == "model.safetensors"
