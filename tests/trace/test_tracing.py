"""From a recording, with or without a target, to the picture."""

import pytest

from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from ln_audit.trace.tracing import told, traced
from tests.shared import FIXTURES, ROOT

STACK = str(FIXTURES / "recordings" / "prenorm-stack.safetensors")
SAMPLE = str(ROOT / "ln_audit" / "assets" / "sample" / "recording.safetensors")


def test_the_pre_norm_stack_shows_its_three_magnitudes():
    lines = told(traced(STACK, None, Demand()), "text").splitlines()
    shown = {line.split()[0]: line.split()[1] for line in lines if line.startswith("  ")}
    assert (shown["hidden_states.0"], shown["before"], shown["after"]) == ("7.78", "8.68", "8.00")
    assert (
        "hidden_states.12 equals after in every number: the norm is already applied (usual for the last state that transformers returns)"
        in lines
    )


def test_a_target_gives_the_norm_and_without_one_no_claim_is_made():
    alone, with_target = (told(traced(SAMPLE, target, Demand()), "text") for target in (None, "sample"))
    assert "through the norm" not in alone
    assert "put through the norm" in with_target


def test_a_target_without_that_norm_is_refused():
    with pytest.raises((UsageError, RecordingError)):
        traced(STACK, "sample", Demand(norm="nonsense"))


@pytest.mark.parametrize(
    ("file", "kind", "message"),
    [
        (None, UsageError, "recording: expected a safetensors file with before and after, found none"),
        (str(FIXTURES), RecordingError, "expected a file, found a folder"),
        (
            str(FIXTURES / "good" / "gpt2-safetensors" / "model.safetensors"),
            RecordingError,
            "expected tensors before and after",
        ),
        ("none.safetensors", RecordingError, "none.safetensors: expected a file, found no such file or folder"),
    ],
)
def test_what_is_no_recording_is_answered_with_how_one_is_made(file, kind, message):
    with pytest.raises(kind, match=message) as caught:
        traced(file, None, Demand())
    assert "ln-audit record TARGET --random 64 --hidden-states -o run.safetensors makes one" in caught.value.hint
