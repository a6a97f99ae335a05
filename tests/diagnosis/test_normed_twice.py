import numpy as np
import pytest

from ln_audit.diagnosis import normed_twice
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32, rows_of

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


def in_bfloat16(x, gain):
    """LayerNorm without a bias, each step rounded."""

    def narrow(values):
        return np.asarray(values, F32).astype(BF16).astype(F32)

    delta = narrow(x - narrow(x.mean(axis=1, keepdims=True)))
    r = narrow(1 / narrow(np.sqrt(narrow(narrow(delta * delta).mean(axis=1, keepdims=True)) + F32(1e-5))))
    return narrow(narrow(delta * r) * F32(gain)).astype(BF16)


@pytest.mark.parametrize("gain", [None, 1.5])
def test_where_a_second_norm_changes_nothing_it_excuses_no_narrow_arithmetic(gain):
    x = rows_of("plain", 768, 4).astype(BF16).astype(F32)
    norm = layer_norm(gain=None if gain is None else np.full(768, gain, F32), bias=None)
    of = suspect(in_bfloat16(x, gain or 1.0), x, norm, out="bfloat16")
    assert told(normed_twice, of) == []
    assert "statistics in bfloat16" in [each.name for each in diagnosed(of).explained_by]


def test_one_row_that_a_second_norm_changes_lets_it_be_named():
    x = rows_of("plain", 768, 12).astype(BF16).astype(F32)
    x[11] *= F32(2**-10)
    norm = layer_norm(gain=None, bias=None)
    once = reference(x, norm).astype(BF16).astype(F32)
    of = suspect(reference(once, norm).astype(BF16), x, norm, out="bfloat16")
    assert told(normed_twice, of) == ["normed twice"]
