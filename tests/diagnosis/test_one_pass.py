import numpy as np
import pytest

from ln_audit.diagnosis import one_pass
from tests.diagnosis import planted
from tests.diagnosis.suspects import BEFORE, batch, layer_norm, suspect, told
from tests.numerics.runs import F32, rows_of

X = rows_of("mean of 100 sigma", 64, 8)
NORM = layer_norm(gain=np.linspace(0.5, 2, 64).astype(F32), bias=np.linspace(-1, 1, 64).astype(F32))
RUN = planted.one_pass(X, planted.Norm("layer_norm", NORM.gain, NORM.bias))


def test_a_variance_that_cancelled_is_named_whatever_was_left_of_it():
    assert told(one_pass, suspect(RUN, X, NORM)) == ["variance in one pass"]


def test_without_an_output_the_cancellation_is_simulated():
    of = suspect(RUN, X, NORM)
    (fault,) = one_pass.faults(of, batch(of, after=False))
    assert fault.predict(batch(of, after=False)).values == pytest.approx(RUN, rel=1e-4, abs=1e-4)


def test_a_deviation_beyond_what_can_cancel_is_not_explained():
    assert told(one_pass, suspect(RUN * F32(1.5), X, NORM)) == []


def test_only_a_norm_that_takes_the_mean_off_can_cancel():
    assert one_pass.applies(suspect(BEFORE))
    assert not one_pass.applies(suspect(BEFORE, parameters=layer_norm(kind="rms_norm")))
