"""One factor for all channels."""

import numpy as np
import pytest

from ln_audit.against.factor import explain
from tests.against.made import BF16, GAIN, difference


@pytest.mark.parametrize(
    ("factor", "told"), [(2.0, "2"), (0.125, "0.125"), (-1.0, "-1"), (np.float32(11.3137), "11.3137")]
)
def test_a_factor_is_told(factor, told):
    found = explain(difference(GAIN * np.float32(factor), GAIN))
    assert found is not None
    assert found.text == f"the source's times {told} in every channel"


def test_rounding_is_no_factor_and_neither_are_zeros():
    assert explain(difference(GAIN.astype(BF16), GAIN)) is None
    assert explain(difference(np.zeros(8, np.float32), GAIN)) is None
    assert explain(difference(GAIN, np.zeros(8, np.float32))) is None
    assert explain(difference(GAIN * np.linspace(1, 2, 8, dtype=np.float32), GAIN)) is None
