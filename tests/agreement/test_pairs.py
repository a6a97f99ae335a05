"""Which recording belongs to which norm."""

from types import SimpleNamespace

import numpy as np
import pytest

from ln_audit import agreement
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


def test_a_recording_that_lacks_the_norm_that_was_asked_for_is_unusable(tmp_path):
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
