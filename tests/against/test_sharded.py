"""A part saved as if it were whole is told with which part it is."""

import numpy as np
import pytest

from ln_audit.against.sharded import explain
from tests.against.made import BF16, GAIN, difference


@pytest.mark.parametrize(
    ("artifact", "told"),
    [
        (GAIN[4:], "part 2 of 2 of the source's 8 elements"),
        (GAIN[:1], "part 1 of 8 of the source's 8 elements"),
        (GAIN[:3], "the first 3 of the source's 8 elements"),
        (GAIN[:4] * 2, "4 elements, the source has 8"),
        (np.zeros(0, np.float32), "0 elements, the source has 8"),
        (np.tile(GAIN, 2), "16 elements, the source has 8"),
    ],
)
def test_a_part_is_told(artifact, told):
    found = explain(difference(artifact, GAIN))
    assert found is not None
    assert (found.status, found.text) == ("fail", told)


def test_a_whole_is_no_part():
    assert explain(difference(GAIN * 2, GAIN)) is None


def test_a_part_that_was_rounded_is_told_too():
    found = explain(difference((GAIN * np.float32(1.0001))[4:].astype(BF16), GAIN * np.float32(1.0001)))
    assert found is not None
    assert found.text == "part 2 of 2 of the source's 8 elements"
