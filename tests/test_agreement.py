"""Which recording belongs to which norm, and whether it is of these weights."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from ln_audit import agreement, recorded_weights
from ln_audit.candidates import norm_parameters
from ln_audit.core import Place
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from tests.checks.subject_builder import WHOLE, norm, subject
from tests.shared import FIXTURES

RUN = str(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors")


def recording(**metadata):
    return SimpleNamespace(name="run", metadata=metadata, norms=("",), array=lambda _: None)


def test_the_order_is_the_users_recordings_then_ours():
    made = subject(WHOLE, norm(), demand=Demand(recordings=("a", "b"), before="x.npy", after="y.npy"))
    assert [(g.path, g.after, g.packaged) for g in agreement.given(made, "/sample")] == [
        ("a", None, False), ("b", None, False), ("x.npy", "y.npy", False), ("/sample", None, False),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["ln_f", "transformer.ln_f"])
def test_a_norm_is_found_with_or_without_the_prefix(name):
    assert agreement.find(subject(WHOLE, norm("transformer.ln_f")), name) == norm("transformer.ln_f")
    assert agreement.find(subject(WHOLE, norm("ln_f")), name) == norm("ln_f")


def test_the_callers_norm_wins_over_the_recordings_and_that_over_the_final_one():
    block = norm("h.0.ln_1", role="block", layer=0)
    both = (block, norm())
    assert (
        agreement.chosen(subject(WHOLE, *both, demand=Demand(norm="ln_f")), recording(norm="h.0.ln_1")).name == "ln_f"
    )
    assert agreement.chosen(subject(WHOLE, *both), recording(norm="h.0.ln_1")).name == "h.0.ln_1"
    assert agreement.chosen(subject(WHOLE, *both), recording()).name == "ln_f"


@pytest.mark.parametrize("norms", [(), (norm(), norm("other"))])
def test_a_model_without_one_final_norm_needs_a_name(norms):
    with pytest.raises(UsageError, match="run: expected one final norm, found ") as caught:
        agreement.chosen(subject(WHOLE, *norms), recording())
    assert caught.value.hint == "say which with --norm NAME"


def test_a_name_that_fits_nothing():
    with pytest.raises(UsageError, match="--norm x: expected a norm of the target, found none of that name"):
        agreement.chosen(subject(WHOLE, norm(), demand=Demand(norm="x")), recording())
    with pytest.raises(RecordingError, match="run: norm: expected a norm of the target, found 'x'"):
        agreement.chosen(subject(WHOLE, norm()), recording(norm="x"))


def pair(made, **metadata):
    return agreement.Pair(agreement.Given("run", "run", "given"), recording(**metadata), "", made.norms[0])


@pytest.mark.parametrize("cast", [None, "float16", "bfloat16"])
def test_digests_may_be_of_the_values_as_stored_or_as_an_honest_run_casts_them(cast):
    import ml_dtypes

    values = WHOLE["ln_f.weight"] * np.float32(1.001)
    used = values if cast is None else values.astype(getattr(ml_dtypes, cast, np.float16)).astype(np.float32)
    made = subject(WHOLE | {"ln_f.weight": values}, norm())
    parameters = norm_parameters(made, norm())
    assert parameters is not None
    digest = hashlib.sha256(used.astype("<f4").tobytes()).hexdigest()
    assert recorded_weights.other_weights({"gain_value_sha256": digest}, norm(), parameters) is None
    said = recorded_weights.other_weights({"gain_value_sha256": "0" * 64}, norm(), parameters)
    assert said is not None
    assert said.endswith("found 000000000000…: recorded with other weights")


def test_a_recording_of_other_weights_fails_before_anything_is_compared():
    made = subject(WHOLE, norm())
    found = agreement.compare(pair(made, bias_value_sha256="f" * 64), made)
    assert (found.status, found.finding, found.elements) == ("fail", "other-weights", 0)


@pytest.mark.parametrize("tensors", [{}, {"ln_f.weight": WHOLE["ln_f.weight"]}])
def test_without_the_norms_values_nothing_is_compared(tensors):
    made = subject(tensors, norm())
    found = agreement.compare(pair(made), made)
    assert (found.status, found.finding) == ("skip", "no-parameters")


def test_a_kind_without_a_reference_is_not_compared_and_keeps_no_other_from_it():
    made = subject(WHOLE, norm(kind="gated_rms_norm"))
    found = agreement.compare(pair(made), made)
    assert (found.status, found.finding) == ("skip", "no-reference")
    assert found.message == "ln_f: kind gated_rms_norm: no reference to hold it against: cannot tell"


def test_an_optional_bias_that_is_missing_counts_as_none():
    made = subject({"ln_f.weight": WHOLE["ln_f.weight"]}, norm(bias_optional=True))
    parameters = norm_parameters(made, made.norms[0])
    assert parameters is not None
    assert parameters.bias is None


@pytest.mark.parametrize(("metadata", "place"), [({"eps": "1e-06"}, Place("run: eps", 1e-6)), ({}, None)])
def test_the_epsilon_that_a_recording_states(metadata, place):
    assert agreement.recorded_epsilon(pair(subject(WHOLE, norm()), **metadata)) == place


def test_an_epsilon_that_is_no_number_makes_a_recording_unusable():
    with pytest.raises(RecordingError, match="run: eps: expected a number, found 'small'"):
        agreement.recorded_epsilon(pair(subject(WHOLE, norm()), eps="small"))


def test_a_recording_of_another_kind_says_so():
    assert list(agreement.claims(pair(subject(WHOLE, norm()), kind="rms_norm"))) == [
        ("run: kind", "layer_norm", "rms_norm")
    ]
    assert list(agreement.claims(pair(subject(WHOLE, norm()), kind="layer_norm"))) == []


def test_an_upper_case_digest_is_the_same_digest():
    made = subject(WHOLE, norm())
    parameters = norm_parameters(made, norm())
    assert parameters is not None
    digest = hashlib.sha256(WHOLE["ln_f.weight"].tobytes()).hexdigest().upper()
    assert recorded_weights.other_weights({"gain_value_sha256": digest}, norm(), parameters) is None


def test_a_recording_that_lacks_the_norm_that_was_asked_for_is_unusable(tmp_path):
    import numpy as np
    from safetensors.numpy import save_file

    rows = np.ones((2, 4), np.float32)
    save_file({"h.0.ln_1/before": rows, "h.0.ln_1/after": rows}, tmp_path / "run.safetensors")
    made = subject(
        WHOLE, norm("h.0.ln_1"), norm(), demand=Demand(norm="ln_f", recordings=(str(tmp_path / "run.safetensors"),))
    )
    (given,) = agreement.given(made, None)
    with pytest.raises(RecordingError, match="expected a recording of ln_f, found h.0.ln_1"):
        list(agreement.pairs(given, made))


def test_a_recording_of_a_norm_that_the_target_does_not_have():
    made = subject(WHOLE, norm("other"), demand=Demand(recordings=(RUN,)))
    (given,) = agreement.given(made, None)
    with pytest.raises(RecordingError, match="expected a norm of the target, found 'transformer.ln_f'"):
        list(agreement.pairs(given, made))


@pytest.mark.parametrize(("chain", "status"), [("other", "skip"), ("once", "fail")])
def test_a_rounding_that_is_none_of_the_known_ones_is_cannot_tell_only_where_the_family_says_so(
    tmp_path, chain, status
):
    import ml_dtypes
    from safetensors.numpy import save_file

    def narrow(values):
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)

    rng = np.random.default_rng(5)
    gain, x = narrow(rng.uniform(0.5, 1.5, 64)), narrow(rng.normal(size=(40, 64)) * 3)
    factor = narrow(1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5))
    save_file(
        {"before": x, "after": narrow(x * factor * gain)}, tmp_path / "run.safetensors", {"output_dtype": "bfloat16"}
    )
    of = norm(kind="rms_norm", bias=None, width=64, chain=chain)
    made = subject({"ln_f.weight": gain}, of, demand=Demand(recordings=(str(tmp_path / "run.safetensors"),)))
    (given,) = agreement.given(made, None)
    (found,) = (agreement.compare(each, made) for each in agreement.pairs(given, made))
    assert found.status == status
    assert ("cannot be judged to the last bit" in found.message) is (status == "skip")


def test_maps_of_the_error_are_kept_for_as_many_as_memory_is_meant_for():
    from ln_audit.audit import audit

    (report,) = audit(str(FIXTURES / "good" / "gpt2-recorded"), Demand(recordings=(RUN,) * 34, pictures=True))
    assert [each.status for each in report.comparisons] == ["pass"] * 34
    assert [each.shares is not None for each in report.comparisons] == [True] * 32 + [False] * 2
