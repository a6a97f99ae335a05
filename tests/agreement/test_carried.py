"""The norm that a recording carries itself."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.agreement.carried import carried_norm, carried_parameters
from ln_audit.core import Place
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError
from ln_audit.formats.safetensors import read_checkpoint
from ln_audit.recording import open_recording
from ln_audit.sources import Settings, open_source
from tests.shared import FIXTURES, ROOT

STACK = str(FIXTURES / "recordings" / "prenorm-stack.safetensors")
SAMPLE = str(ROOT / "ln_audit" / "assets" / "sample" / "recording.safetensors")
ROWS = {"before": np.ones((2, 4), np.float32), "after": np.ones((2, 4), np.float32)}
GAIN = {"gain": np.ones(4, np.float32)}


def written(folder, tensors, **metadata):
    """A recording, and what it holds as a checkpoint."""
    path = str(folder / "run.safetensors")
    save_file(tensors, path, metadata or None)
    return path, read_checkpoint(open_source(path, Settings()), "run.safetensors")


def test_parameters_kind_and_epsilon_are_all_there_or_none_is_taken():
    assert carried_parameters(open_recording(SAMPLE)) is None
    parameters = carried_parameters(open_recording(STACK))
    assert parameters is not None
    assert parameters.gain is not None
    assert (parameters.kind, parameters.eps, parameters.gain.shape) == ("layer_norm", 1e-5, (64,))


def test_the_norm_is_as_the_recording_says_and_the_call_has_the_last_word(tmp_path):
    path, held = written(tmp_path, ROWS | GAIN, kind="rms_norm", eps="1e-6", norm="ln")
    norm = carried_norm(path, held, Demand())
    assert (norm.name, norm.kind, norm.width, norm.gain, norm.bias) == ("ln", "rms_norm", 4, "gain", None)
    assert (norm.eps, norm.eps_origin, norm.eps_places) == (1e-6, "written", (Place(f"{path}: eps", 1e-6),))
    given = carried_norm(path, held, Demand(eps=1e-5, kind="layer_norm", offset=1.0))
    assert (given.kind, given.eps, given.eps_origin, given.weight_offset) == ("layer_norm", 1e-5, "given", 1.0)
    assert given.eps_places == (Place("--eps", 1e-5), Place(f"{path}: eps", 1e-6))


@pytest.mark.parametrize(
    ("tensors", "metadata", "told"),
    [
        (ROWS, {"kind": "rms_norm", "eps": "1e-6"}, "found no tensor gain"),
        (ROWS | GAIN, {"eps": "1e-6"}, "found no kind"),
        (ROWS | GAIN, {"kind": "rms_norm"}, "found no eps"),
        (ROWS | GAIN, {"kind": "rms_norm", "eps": "small"}, "eps: expected a number, found 'small'"),
        (
            ROWS | {"gain": np.ones(3, np.float32)},
            {"kind": "rms_norm", "eps": "1e-6"},
            r"gain: expected floats of shape \[4\], found F32 \[3\]",
        ),
        (
            ROWS | {"gain": np.ones(4, np.int32)},
            {"kind": "rms_norm", "eps": "1e-6"},
            r"gain: expected floats of shape \[4\], found I32 \[4\]",
        ),
    ],
)
def test_what_nobody_says_is_no_norm(tensors, metadata, told, tmp_path):
    path, held = written(tmp_path, tensors, **metadata)
    with pytest.raises(RecordingError, match=told):
        carried_norm(path, held, Demand())


def test_an_epsilon_that_is_no_number_is_no_epsilon(tmp_path):
    path, _ = written(tmp_path, ROWS | GAIN, kind="rms_norm", eps="1e-6x")
    with pytest.raises(RecordingError, match="eps: expected a number, found '1e-6x'"):
        carried_parameters(open_recording(path))
