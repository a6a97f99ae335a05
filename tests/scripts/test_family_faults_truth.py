"""What a norm computes is told by its numbers: kind, epsilon, offset; and nothing where there is no norm."""

import numpy as np
import pytest

from scripts.family_faults.recorded import Rows
from scripts.family_faults.truth import offset, reference, shown

RNG = np.random.default_rng(0)
BEFORE = RNG.normal(0.02, 0.02, (2, 6, 8)).astype("f4")
GAIN, BIAS = RNG.normal(1, 0.3, 8), RNG.normal(0, 0.3, 8)


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_kind_epsilon_gain_and_bias_are_told(kind):
    after = (reference(BEFORE, kind, 3e-5) * GAIN + BIAS).astype("f4")
    found = shown(Rows(BEFORE, after), [1e-5, 3e-5, 1e-6])
    assert found is not None
    assert (found.kind, found.eps) == (kind, 3e-5)
    assert np.abs(found.gain - GAIN).max() < 1e-4
    assert np.abs(found.bias - BIAS).max() < 1e-4


def test_rows_without_a_mean_show_neither_kind():
    before = BEFORE - BEFORE.mean(-1, keepdims=True, dtype="f8")
    assert shown(Rows(before, reference(before, "layer_norm", 1e-5) * GAIN), [1e-5]) is None


@pytest.mark.parametrize(
    "after",
    [BEFORE, np.tanh(BEFORE), BEFORE @ RNG.normal(0, 1, (8, 8)), np.full_like(BEFORE, np.nan), BEFORE[..., :4]],
    ids=["nothing", "tanh", "matrix", "nan", "another shape"],
)
def test_what_is_no_norm_over_the_last_axis_shows_none(after):
    assert shown(Rows(BEFORE, after), [1e-5]) is None


def test_rows_that_are_normed_already_and_only_handed_on_show_none():
    normed = reference(BEFORE, "rms_norm", 0.0)
    assert shown(Rows(normed, normed), [0.0]) is None


def test_three_rows_are_too_few():
    few = BEFORE[0, :3]
    assert shown(Rows(few, reference(few, "rms_norm", 1e-5)), [1e-5]) is None


@pytest.mark.parametrize(("added", "told"), [(0.0, 0.0), (1.0, 1.0), (0.5, None)])
def test_the_offset_is_a_whole_number_or_none(added, told):
    assert offset(GAIN + added, GAIN.astype("f4")) == told


def test_a_norm_without_a_gain_adds_nothing_and_multiplies_with_nothing():
    assert offset(np.ones(8), None) == 0.0
    assert offset(np.full(8, 8**-0.5), None) is None  # an L2 norm


def test_a_gain_of_another_size_is_not_this_norms():
    assert offset(GAIN, np.ones(4)) is None
