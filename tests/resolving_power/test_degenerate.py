"""Rows that show next to nothing are named as what they are."""

import numpy as np
import pytest

from ln_audit.comparison import OUTPUT_IS_BIAS
from ln_audit.resolving_power.degenerate import degenerate
from ln_audit.resolving_power.sample import sample
from tests.numerics.runs import F32, ArrayRows, rows_of
from tests.resolving_power.recorded import norm, resolved

ROWS = rows_of("plain", 16, 8)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.ones((1, 1), F32), ["a single position", f"every row is constant: {OUTPUT_IS_BIAS}"]),
        (ROWS, []),
        (ROWS[:1], ["a single position"]),
        (ROWS[:2].reshape(1, 2, 16), []),
        (np.zeros((4, 16), F32), [f"every row is all zero: {OUTPUT_IS_BIAS}", "every row is the same"]),
        (np.zeros((1, 16), F32), ["a single position", f"every row is all zero: {OUTPUT_IS_BIAS}"]),
        (rows_of("constant", 16, 8), [f"every row is constant: {OUTPUT_IS_BIAS}"]),
        (np.vstack([ROWS[:1]] * 5), ["every row is the same"]),
        (np.vstack([ROWS, ROWS[:3]]), ["3 of 11 rows repeat another"]),
        (np.vstack([ROWS, np.ones((1, 16), F32)]), []),
    ],
)
def test_they_are_named(x, said):
    assert list(degenerate(sample(ArrayRows(x, x), packaged=False), norm(x.shape[1]))) == said


def test_an_rmsnorm_of_constant_rows_still_shows_its_gain():
    for x, said in (
        (rows_of("constant", 16, 8), ["every row is constant"]),
        (np.arange(1.0, 5.0, dtype=F32)[:, None], []),
    ):
        assert list(degenerate(sample(ArrayRows(x, x), packaged=False), norm(x.shape[1], "rms_norm"))) == said


def test_a_norm_whose_gains_are_all_zero_shows_nothing_whatever_the_rows():
    nothing = ["every gain is 0: the output is the bias, whatever the rows"]
    for changes in ({"gain": np.zeros(16, F32)}, {"gain": np.full(16, -1, F32), "weight_offset": 1.0}):
        parameters = norm(16, **changes)
        assert list(degenerate(sample(ArrayRows(ROWS, ROWS), packaged=False), parameters)) == nothing
    assert resolved(ROWS, norm(16, gain=np.zeros(16, F32))).blind == nothing[0]
    one = np.zeros(16, F32)
    one[3] = 1e-3
    assert list(degenerate(sample(ArrayRows(ROWS, ROWS), packaged=False), norm(16, gain=one))) == []


def test_of_a_long_recording_it_is_said_how_much_was_looked_at():
    x = np.ones((1000, 16), F32)
    assert list(degenerate(sample(ArrayRows(x, x), packaged=False), norm(x.shape[1]))) == [
        f"every row of 63 looked at is constant: {OUTPUT_IS_BIAS}",
        "every row of 63 looked at is the same",
    ]


@pytest.mark.parametrize(
    ("x", "blind"),
    [
        (np.zeros((4, 48), F32), {"epsilon", "deviation", "channels", "missing-parameters", "gain-offset"}),
        (rows_of("constant", 48, 8), {"epsilon", "deviation", "missing-parameters", "gain-offset"}),
    ],
)
def test_a_recording_of_such_rows_can_hardly_tell_anything(x, blind):
    found = resolved(x, norm(48))
    assert found.degenerate
    assert blind <= {each["hypothesis"] for each in found.cannot_tell}
    assert "bias missing" in {each["name"] for each in found.can_tell}
    assert "gain missing" in {each["name"] for each in found.cannot_tell}
