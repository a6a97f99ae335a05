import numpy as np
import pytest

from ln_audit.diagnosis import overflow
from tests.diagnosis.suspects import BEFORE, BIAS, batch, explained, layer_norm, reference, suspect

LARGE = np.array([[400, -1, 2, 3], [1, 2, 3, 5], [150, -150, 150, -150]], np.float32)


@pytest.mark.parametrize(
    ("lost", "name"),
    [
        ([0], "square overflowed in float16: the output is the bias alone"),
        ([0, 2], "sum of squares overflowed in float16: the output is the bias alone"),
    ],
)
def test_rows_that_overflowed_give_the_bias_alone(lost, name):
    after = reference(LARGE, layer_norm())
    after[lost] = BIAS
    (found,) = explained(overflow, suspect(after, LARGE))
    assert (found.name, found.advice) == (name, "take the statistics in float32: float16 ends at 65504")


def test_rows_that_do_not_overflow_are_predicted_as_they_should_be():
    of = suspect(BEFORE)
    for fault in overflow.faults(of, batch(of)):
        assert fault.predict(batch(of)).values == pytest.approx(reference(BEFORE, layer_norm()), rel=1e-5)
    assert overflow.applies(of)
