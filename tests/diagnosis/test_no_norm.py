import numpy as np
import pytest

from ln_audit.diagnosis import no_norm
from tests.diagnosis.suspects import BEFORE, BIAS, GAIN, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32, rows_of

NORMED = reference(BEFORE, layer_norm())


def test_a_state_that_was_not_normed_is_told_as_such():
    (found,) = explained(no_norm, suspect(BEFORE))
    assert (found.name, found.error_ratio) == ("no norm was applied: after is before", 0.0)
    assert found.advice == "record what the norm gives, or apply it: this state was taken before it"


def test_a_state_that_carries_the_norm_already_is_told_from_one_without():
    (found,) = explained(no_norm, suspect(NORMED, NORMED))
    assert found.name == "before already carries the norm: after is the same"
    assert found.advice == (
        "record what goes into the norm (a forward pre-hook on it gives that): hidden_states[-1] is after the final "
        "norm, and the state before it is not in the list"
    )


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("out", ["float32", "bfloat16"])
def test_rows_that_carry_the_norm_are_known_by_mean_and_mean_square(kind, out):
    rng = np.random.default_rng(3)
    norm = layer_norm(kind=kind, gain=rng.uniform(0.5, 2, 64).astype(F32), bias=None)
    x = rows_of("outliers", 64, 8)
    normed = reference(x, norm)
    normed = normed if out == "float32" else normed.astype(BF16).astype(F32)
    carries = "before already carries the norm: after is the same"
    assert told(no_norm, suspect(normed, normed, norm, out=out))[0] == carries
    assert told(no_norm, suspect(normed * F32(2), normed * F32(2), norm, out=out)) != [carries]


def test_channels_whose_gain_is_zero_do_not_hide_that_the_rows_are_normed():
    rng = np.random.default_rng(4)
    gain = rng.uniform(0.5, 2, 64).astype(F32)
    gain[5] = 0
    normed = reference(rows_of("plain", 64, 8), layer_norm(gain=gain, bias=None))
    of = suspect(normed, normed, layer_norm(gain=gain, bias=None))
    assert told(no_norm, of) == ["before already carries the norm: after is the same"]


def test_gain_and_bias_without_a_norm_are_named():
    assert told(no_norm, suspect(GAIN * BEFORE + BIAS)) == ["only gain and bias were applied"]


def test_it_applies_to_every_norm():
    assert no_norm.applies(suspect(BEFORE))
