"""What a failing recording may have been confused with: other norms of the checkpoint, hidden states of the recording."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.agreement import candidates
from ln_audit.errors import SourceError
from ln_audit.recording import open_recording
from tests.checks.subject_builder import WHOLE, floats, norm, subject
from tests.recording.containers import write_safetensors


def model():
    """Two layers of two norms, an embedding norm, a final norm and one of another width, listed promise by promise."""
    blocks = [
        norm(f"h.{layer}.{name}", promised=f"h.{layer}.{name}", role="block", layer=layer)
        for name in ("ln_1", "ln_2")
        for layer in (0, 1)
    ]
    return (
        norm("ln_f"),
        *blocks,
        norm("ln_emb", role="embedding"),
        norm("h.0.q_norm", role="qk", layer=0, width=2, bias=None),
    )


def tensors(norms=None):
    found = {}
    for at, each in enumerate(model() if norms is None else norms):
        for name in each.tensors:
            found[name] = floats(*np.arange(each.width) + at)
    return found


def test_norms_are_ordered_as_the_rows_go_through_them():
    names = [each.name for each in candidates.in_order(subject(tensors(), *model()))]
    assert names == ["ln_emb", "h.0.ln_1", "h.0.ln_2", "h.0.q_norm", "h.1.ln_1", "h.1.ln_2", "ln_f"]


@pytest.mark.parametrize("read", [True, False])
def test_all_norms_of_the_width_are_candidates_by_their_distance_in_the_model(read):
    made = subject(tensors(), *model(), read=read)
    found = candidates.others(made, made.norms[0])
    assert [(each.name, each.step) for each in found] == [
        ("ln_emb", -5),
        ("h.0.ln_1", -4),
        ("h.0.ln_2", -3),
        ("h.1.ln_1", -2),
        ("h.1.ln_2", -1),
    ]
    assert found[-1].parameters.gain is not None
    assert found[-1].parameters.gain.tolist() == [4.0, 5.0, 6.0, 7.0]


def test_what_cannot_be_read_is_no_candidate_and_no_error():
    def refused(_names):
        raise SourceError("model.safetensors: gone")

    made = subject(tensors(), *model(), read=False)
    made = replace(made, checkpoint=replace(made.checkpoint, read=refused))
    assert candidates.others(made, made.norms[0]) == ()


@pytest.mark.parametrize(
    "values", [floats(1, 2, 3), floats(1, 2, 3, np.nan), np.array([1, 2, 3, 4], np.int8).reshape(2, 2)]
)
def test_a_norm_that_is_not_whole_is_no_candidate(values):
    norms = (norm("ln_f"), norm("ln_emb", role="embedding"))
    made = subject(tensors(norms) | {"ln_emb.weight": values}, *norms)
    assert candidates.others(made, made.norms[0]) == ()


def test_no_more_is_read_than_norms_can_have(monkeypatch):
    monkeypatch.setattr(candidates, "_MOST", 40)
    made = subject(tensors(), *model(), read=False)
    assert [each.name for each in candidates.others(made, made.norms[0])] == ["ln_emb"]


def test_the_norms_own_parameters_are_those_that_were_read():
    made = subject(WHOLE, norm())
    found = candidates.norm_parameters(made, norm())
    assert found is not None
    assert (found.kind, found.eps, np.asarray(found.gain).tolist()) == ("layer_norm", 1e-5, [1.5, 1.25, 0.5, 2.0])
    assert candidates.norm_parameters(subject({}, norm()), norm()) is None


def test_hidden_states_of_the_inputs_shape_are_candidates(tmp_path):
    rows = np.ones((2, 4), np.float32)
    held = {"before": rows, "after": rows, "hidden_states.0": rows * 2, "hidden_states.3": rows[:, :2].copy()}
    path = write_safetensors(tmp_path / "run.safetensors", held)
    found = candidates.states(open_recording(path), "")
    assert list(found) == [0]
    ((state, after),) = found[0].blocks(8)
    assert (state.tolist(), after.tolist()) == ((rows * 2).tolist(), rows.tolist())


def test_an_optional_bias_that_is_missing_counts_as_none():
    made = subject({"ln_f.weight": WHOLE["ln_f.weight"]}, norm(bias_optional=True))
    parameters = candidates.norm_parameters(made, made.norms[0])
    assert parameters is not None
    assert parameters.bias is None
