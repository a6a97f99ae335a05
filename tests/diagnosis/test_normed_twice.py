import pytest

from ln_audit.diagnosis import normed_twice
from tests.diagnosis.suspects import BEFORE, batch, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32

TWICE = reference(reference(BEFORE, layer_norm()), layer_norm())


def test_an_output_that_went_through_the_norm_again_is_named():
    assert told(normed_twice, suspect(TWICE)) == ["normed twice"]
    assert told(normed_twice, suspect(reference(BEFORE, layer_norm()))) == []


def test_the_state_between_was_stored_in_the_output_dtype():
    once = reference(BEFORE, layer_norm()).astype(BF16).astype(F32)
    after = reference(once, layer_norm()).astype(BF16)
    assert told(normed_twice, suspect(after, out="bfloat16")) == ["normed twice"]


def test_the_prediction_is_the_norm_of_the_norm():
    of = suspect(TWICE)
    (fault,) = normed_twice.faults(of, batch(of))
    assert fault.predict(batch(of)).values == pytest.approx(TWICE, rel=1e-5)
    assert normed_twice.applies(of)
