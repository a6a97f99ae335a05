"""The same values in another order."""

import numpy as np
import pytest

from ln_audit.against.permuted import explain
from tests.against.made import BF16, GAIN, difference, norm


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


def test_an_order_is_seen_through_rounding_and_convention():
    fine = GAIN * np.float32(1.0001)
    for artifact in (np.roll(fine, 3).astype(BF16), np.roll((fine - np.float32(1)) + np.float32(1), 3)):
        offset = 0.0 if artifact.dtype == BF16 else 1.0
        source = fine if offset == 0 else fine - np.float32(1)
        found = explain(difference(artifact, source, theirs=norm(weight_offset=offset)))
        assert found is not None
        assert found.text.endswith("rolled by 3")
