"""What an explanation may look at: both values, and all parameters of the source by value."""

import numpy as np

from ln_audit.against.difference import Twins
from ln_audit.against.pairing import pairing
from ln_audit.against.side import Parameter
from tests.against.made import BF16, GAIN, difference, norm, side


def test_a_fit_allows_the_rounding_of_both_dtypes_and_no_more():
    found = difference((GAIN + 1).astype(BF16), GAIN)
    assert found.whole
    assert found.fits(GAIN.astype(np.float64) + 1)
    assert not found.fits(GAIN.astype(np.float64) + 1.1)
    assert not difference(GAIN[:4], GAIN).whole


def test_another_norm_is_found_by_its_values():
    norms = (norm("a", 0), norm("b", 1), norm("c", 2))
    made = side({"a.weight": GAIN, "b.weight": GAIN * 2, "c.weight": GAIN}, *norms)
    found = Twins(made, made, pairing(made, made))
    gain = Parameter("x", "F32", GAIN, 0.0)
    assert found.holders("gain", gain) == ("a", "c")
    assert found.holders("bias", gain) == ()
    narrow = (GAIN * np.float32(2.0001)).astype(BF16)
    assert Twins(made, made, pairing(made, made)).holders("gain", Parameter("x", "BF16", narrow, 0.0)) == ("b",)
    assert found.holders("gain", Parameter("x", "F32", GAIN - 1, 1.0)) == ("a", "c")
