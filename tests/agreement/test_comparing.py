"""What a recorded norm shows against the reference, and what it says of itself."""

from types import SimpleNamespace

import numpy as np
import pytest

from ln_audit import agreement
from ln_audit.core import Place
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError
from tests.checks.subject_builder import WHOLE, norm, subject
from tests.shared import FIXTURES

RUN = str(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors")


def recording(**metadata):
    return SimpleNamespace(name="run", metadata=metadata, norms=("",), array=lambda _: None)


def pair(made, **metadata):
    return agreement.Pair(agreement.Given("run", "run", "given"), recording(**metadata), "", made.norms[0])


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
