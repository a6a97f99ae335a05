"""Whether a recording is of these weights: by digests that it states, or by arrays that it holds."""

import hashlib
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from ln_audit.agreement.candidates import norm_parameters
from ln_audit.agreement.recorded_weights import as_used, facts, other_weights, stated_digests
from ln_audit.numerics.parameters import NormParameters, value_sha256
from tests.checks.subject_builder import WHOLE, norm, subject

GAIN = np.array([1.0, 1.001, 0.5, 2.0], dtype=np.float32)
NORM = norm()
PARAMETERS = NormParameters("layer_norm", GAIN, np.zeros(4, np.float32), 1e-5)


def holding(metadata=(), **arrays):
    return SimpleNamespace(metadata=dict(metadata), array=arrays.get)


def test_a_recording_without_digests_says_nothing():
    assert stated_digests(holding()) == {}
    assert other_weights({}, NORM, PARAMETERS) is None


def test_the_digest_of_the_gain_that_it_holds_counts_like_one_that_it_states():
    held = stated_digests(holding(gain=GAIN))
    assert held == {"gain_value_sha256": value_sha256(GAIN, 0.0)}
    assert other_weights(held, NORM, PARAMETERS) is None


def test_a_gain_cast_to_a_narrower_dtype_is_the_same_weight():
    narrow = GAIN.astype(ml_dtypes.bfloat16)
    assert other_weights(stated_digests(holding(gain=narrow)), NORM, PARAMETERS) is None


def test_another_gain_is_named_with_expected_and_found():
    told = other_weights(stated_digests(holding(gain=GAIN * 2)), NORM, PARAMETERS)
    assert told is not None
    assert told.startswith("gain_value_sha256: expected ")
    assert told.endswith("recorded with other weights")


def test_of_several_norms_each_may_say_its_own():
    recording = holding({"eps": "1", "a/eps": "2", "a/gain_value_sha256": "x", "b/note": "no fact"})
    assert [facts(recording, norm).get("eps") for norm in ("a", "b", "")] == ["2", "1", "1"]
    assert (stated_digests(recording, "a"), stated_digests(recording, "b")) == ({"gain_value_sha256": "x"}, {})


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_digest_proves_in_which_dtype_the_run_held_its_parameters(dtype, offset):
    cast = GAIN.astype(dtype)
    digest = {"gain_value_sha256": str(value_sha256(cast, offset)).upper()}
    used = as_used(digest, norm(weight_offset=offset), PARAMETERS)
    assert used.gain is not None
    assert (used.gain.dtype, used.gain.tolist()) == (np.dtype(dtype), cast.tolist())
    assert used.bias is PARAMETERS.bias


@pytest.mark.parametrize(
    "digest", [{}, {"gain_value_sha256": str(value_sha256(GAIN, 0.0))}, {"gain_value_sha256": "0" * 64}]
)
def test_otherwise_they_are_taken_as_they_are_stored(digest):
    assert as_used(digest, NORM, PARAMETERS).gain is GAIN


@pytest.mark.parametrize("cast", [None, "float16", "bfloat16"])
def test_digests_may_be_of_the_values_as_stored_or_as_an_honest_run_casts_them(cast):
    values = WHOLE["ln_f.weight"] * np.float32(1.001)
    used = values if cast is None else values.astype(getattr(ml_dtypes, cast, np.float16)).astype(np.float32)
    made = subject(WHOLE | {"ln_f.weight": values}, norm())
    parameters = norm_parameters(made, norm())
    assert parameters is not None
    digest = hashlib.sha256(used.astype("<f4").tobytes()).hexdigest()
    assert other_weights({"gain_value_sha256": digest}, norm(), parameters) is None
    said = other_weights({"gain_value_sha256": "0" * 64}, norm(), parameters)
    assert said is not None
    assert said.endswith("found 000000000000…: recorded with other weights")


def test_an_upper_case_digest_is_the_same_digest():
    made = subject(WHOLE, norm())
    parameters = norm_parameters(made, norm())
    assert parameters is not None
    digest = hashlib.sha256(WHOLE["ln_f.weight"].tobytes()).hexdigest().upper()
    assert other_weights({"gain_value_sha256": digest}, norm(), parameters) is None
