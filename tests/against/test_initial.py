"""Back at initial values: a bias of zeros is lost, a gain of ones may have been folded."""

import numpy as np

from ln_audit.against.initial import explain
from tests.against.made import GAIN, difference, norm

ZEROS, ONES = np.zeros(8, np.float32), np.ones(8, np.float32)


def test_a_bias_of_zeros_was_dropped():
    found = explain(difference(ZEROS, GAIN, part="bias"))
    assert found is not None
    assert (found.status, found.text) == ("fail", "all zero, where the source's bias was trained")
    assert explain(difference(ONES, GAIN, part="bias")) is None


def test_a_gain_of_ones_is_undecided_and_one_of_zeros_is_not():
    for ours, stored in ((norm(), ONES), (norm(weight_offset=1.0), ZEROS)):
        found = explain(difference(stored, GAIN, ours=ours))
        assert found is not None
        assert found.status == "skip"
    found = explain(difference(ZEROS, GAIN))
    assert found is not None
    assert (found.status, found.text) == ("fail", "every gain is 0")
    assert explain(difference(GAIN * 2, GAIN)) is None
    assert explain(difference(ONES[:4], GAIN)) is None
