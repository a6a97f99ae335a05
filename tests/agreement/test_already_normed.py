"""A state that was normed before is noticed, and an ordinary one is not."""

import numpy as np
import pytest

from ln_audit.agreement.already_normed import already_normed
from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.numerics.parameters import NormParameters
from ln_audit.testing import ArrayRows
from tests.shared import FIXTURES

RNG = np.random.default_rng(5)
GAIN, BIAS = (1 + 0.3 * RNG.standard_normal((2, 96))).astype(np.float32)


def normed(x, kind):
    centred = x - (x.mean(-1, keepdims=True) if kind == "layer_norm" else 0)
    z = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    return (z * GAIN + (BIAS if kind == "layer_norm" else 0)).astype(np.float32)


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize(("scale", "positions"), [(1.0, 8), (30.0, 2), (0.3, 100)])
def test_normed_states_are_told_from_others(kind, scale, positions):
    x = (scale * RNG.standard_normal((positions, 96)) + 0.2).astype(np.float32)
    norm = NormParameters(kind, GAIN, BIAS if kind == "layer_norm" else None, 1e-5)
    once = normed(x, kind)
    assert already_normed(ArrayRows(once, normed(once, kind)), norm)
    assert not already_normed(ArrayRows(x, once), norm)


def test_what_shows_nothing_is_not_accused():
    norm = NormParameters("layer_norm", GAIN, BIAS, 1e-5)
    once = normed(RNG.standard_normal((1, 96)).astype(np.float32), "layer_norm")
    assert not already_normed(ArrayRows(once, once), norm)
    assert not already_normed(ArrayRows(np.zeros((4, 96), np.float32), np.zeros((4, 96), np.float32)), norm)
    assert not already_normed(ArrayRows(once, once), NormParameters("layer_norm", np.zeros(96, np.float32), BIAS, 1e-5))


def test_the_last_hidden_state_normed_once_more_is_a_warning(tmp_path):
    from safetensors.numpy import load_file, save_file

    sample = FIXTURES.parent / "ln_audit" / "assets" / "sample"
    tensors, recorded = load_file(sample / "model.safetensors"), load_file(sample / "recording.safetensors")
    x = recorded["hidden_states.3"]
    centred = x - x.mean(-1, keepdims=True)
    after = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))
    after = after * tensors["transformer.ln_f.weight"] + tensors["transformer.ln_f.bias"]
    save_file({"before": x, "after": after.astype(np.float32)}, tmp_path / "run.safetensors")
    (report,) = audit("sample", Demand(recordings=(str(tmp_path / "run.safetensors"),)))
    (warned,) = [f for f in report.findings if f.rule == "LN201" and f.status == "warn"]
    assert "before already carries transformer.ln_f" in warned.message
    assert warned.reason.startswith("normed twice?")
