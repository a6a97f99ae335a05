import numpy as np
import pytest

from ln_audit.diagnosis.channel_fit import Pair, Seen, recover, widened
from ln_audit.numerics.floats import FLOAT32, float64
from ln_audit.numerics.judge import Prepared, Setting
from ln_audit.numerics.parameters import Variant
from tests.diagnosis.suspects import layer_norm, reference
from tests.numerics.runs import F32, rows_of

SETTING = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)
X = rows_of("plain", 8, 6)
GAIN, BIAS = np.arange(1, 9, dtype=F32), np.linspace(-1, 1, 8).astype(F32)
FORM = Variant("float32", float64(GAIN), float64(BIAS))


def recovered(gain=GAIN, bias=BIAS, n=6):
    after = reference(X[:n], layer_norm(gain=gain.astype(F32), bias=bias.astype(F32)))
    return recover(float64(X[:n]), float64(after), FORM, None, SETTING)


def changed(values, channels, by):
    values = values.copy()
    values[list(channels)] += F32(by)
    return values


def test_stored_numbers_that_fit_are_left_alone():
    found = recovered()
    assert not found.differs.any()
    assert not found.neither.any()
    assert not found.tells
    assert found.pair.gain.tolist() == GAIN.tolist()


def test_a_gain_that_differs_is_recovered_within_its_error():
    found = recovered(gain=changed(GAIN, (2, 5), 0.125))
    assert np.flatnonzero(found.gain_differs).tolist() == [2, 5]
    assert not found.bias_differs.any()
    assert found.tells
    assert np.abs(found.pair.gain - [1, 2, 3.125, 4, 5, 6.125, 7, 8]).max() <= found.pair.gain_error.max() < 2e-5


def test_a_bias_that_differs_is_recovered_as_a_bias():
    found = recovered(bias=changed(BIAS, (0, 7), 3))
    assert np.flatnonzero(found.bias_differs).tolist() == [0, 7]
    assert not found.gain_differs.any()
    assert found.pair.bias[[0, 7]] == pytest.approx([2, 4], abs=1e-6)


def test_both_are_recovered_where_neither_alone_fits():
    found = recovered(gain=changed(GAIN, (3,), 1), bias=changed(BIAS, (3,), 1))
    assert (np.flatnonzero(found.gain_differs).tolist(), np.flatnonzero(found.bias_differs).tolist()) == ([3], [3])
    assert (found.pair.gain[3], found.pair.bias[3]) == pytest.approx((5, BIAS[3] + 1), abs=1e-5)


def test_two_rows_recover_one_number_of_a_channel_but_not_two():
    assert recovered(gain=changed(GAIN, (3,), 1), n=2).tells
    found = recovered(gain=changed(GAIN, (3,), 1), bias=changed(BIAS, (3,), 1), n=2)
    assert np.flatnonzero(found.neither).tolist() == [3]
    assert not found.tells


def test_rows_of_another_input_fit_no_pair():
    after = reference(X[::-1], layer_norm(gain=GAIN, bias=BIAS))
    found = recover(float64(X), float64(after), FORM, None, SETTING)
    assert found.neither.all()


def test_an_output_that_does_not_depend_on_its_input_is_constant():
    found = recover(float64(X), np.zeros((6, 8)), FORM, None, SETTING)
    assert found.constant
    assert not recovered().constant


def test_what_is_not_known_of_a_pair_widens_the_bound_of_z():
    rows = Prepared(np.array([[2.0, 2.0]]), np.zeros((1, 2)), np.ones((1, 1)), np.ones((1, 1), dtype=bool))
    pair = Pair(np.array([4.0, 0.0]), np.array([0.5, 0.25]), np.zeros(2), np.array([1.0, 0.0]))
    wider, form = widened(rows, pair)
    assert form.gain is not None
    assert (form.gain.tolist(), wider.e_z.tolist()) == ([4.0, 0.25], [[0.5, 2.0]])


def test_a_row_that_is_repeated_determines_nothing():
    rows, noise = np.repeat(X[:1], 32, axis=0), np.repeat(X[1:2], 32, axis=0)
    found = recover(float64(rows), float64(noise), FORM, None, SETTING)
    assert found.neither.all()
    assert not found.tells


def test_two_different_rows_count_as_two_however_often_they_are_repeated():
    often = np.repeat(X[:2], 20, axis=0)

    def of(gain, bias):
        after = reference(often, layer_norm(gain=gain, bias=bias))
        return recover(float64(often), float64(after), FORM, None, SETTING)

    assert of(changed(GAIN, (3,), 1), BIAS).tells
    assert np.flatnonzero(of(changed(GAIN, (3,), 1), changed(BIAS, (3,), 1)).neither).tolist() == [3]


def test_points_are_numbers_further_apart_than_they_may_be_off():
    z = np.array([[0, 0, 0, 0], [0, 1, 1, 1e-9], [0, 1, 2, 2e-9], [0, 1, 5, 9]], float)
    kept = np.ones(z.shape, dtype=bool)
    kept[3] = False
    seen = Seen(z, np.full(z.shape, 1e-6), z, z, kept)
    assert seen.points.tolist() == [1, 2, 3, 1]
    assert Seen(z, z, z, z, ~kept & False).points.tolist() == [0, 0, 0, 0]
