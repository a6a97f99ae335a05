"""The same values in another order."""

import numpy as np
import pytest

from ln_audit.against.permuted import explain
from tests.against.made import GAIN, difference


@pytest.mark.parametrize(
    ("artifact", "told"),
    [
        (GAIN[::-1].copy(), "reversed"),
        (np.roll(GAIN, 3), "rolled by 3"),
        (GAIN[[1, 0, 2, 3, 4, 5, 6, 7]], "2 of 8 channels moved"),
    ],
)
def test_an_order_is_told(artifact, told):
    found = explain(difference(artifact, GAIN))
    assert found is not None
    assert found.text == f"the source's values in another order: {told}"


def test_other_values_are_no_order():
    assert explain(difference(GAIN * 2, GAIN)) is None
    assert explain(difference(GAIN[:4], GAIN)) is None
