"""The family's 1, never applied or applied twice, whichever container stores it."""

import numpy as np
import pytest

from ln_audit.against.offset import explain
from tests.against.made import BF16, GAIN, difference, norm

FULL, LACKS = norm(), norm(weight_offset=1.0)


@pytest.mark.parametrize(
    ("artifact", "ours", "theirs", "told"),
    [
        (GAIN - 1, FULL, LACKS, "offset -1 in every element: the +1 between the two conventions was never applied"),
        (GAIN + 1, FULL, LACKS, "offset +1 in every element: the +1 between the two conventions was applied twice"),
        (GAIN - 2, LACKS, FULL, "offset -1 in every element: the -1 between the two conventions was applied twice"),
        (GAIN, LACKS, FULL, "offset +1 in every element: the -1 between the two conventions was never applied"),
        (GAIN, LACKS, LACKS, "offset +1 in every element: stored with the 1 that the model adds itself"),
        (GAIN - 2, LACKS, LACKS, "offset -1 in every element: the 1 that the model adds itself was taken off twice"),
        (GAIN + 1, FULL, FULL, "offset +1 in every element: expected the source's own values"),
    ],
)  # fmt: skip
def test_a_constant_is_told_with_what_the_convention_asked_for(artifact, ours, theirs, told):
    source = GAIN - 1 if theirs is LACKS else GAIN
    found = explain(difference(artifact.astype(np.float32), source.astype(np.float32), ours=ours, theirs=theirs))
    assert found is not None
    assert (found.status, found.text) == ("fail", told)


def test_it_is_seen_through_rounding_and_not_where_one_element_is_off():
    found = explain(difference((GAIN - 1).astype(BF16), (GAIN - 1).astype(np.float32), ours=FULL, theirs=LACKS))
    assert found is not None
    off = (GAIN - 1).astype(np.float32)
    off[3] += 0.01
    assert explain(difference(off, (GAIN - 1).astype(np.float32), ours=FULL, theirs=LACKS)) is None
    assert explain(difference(GAIN[:4], GAIN)) is None


def test_a_bias_has_no_convention():
    found = explain(difference(GAIN + 1, GAIN, part="bias"))
    assert found is not None
    assert found.text.endswith("a constant was added to a bias")
