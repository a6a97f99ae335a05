"""The smallest change that is seen: twice that much fails, half of it passes."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.numerics.floats import FORMATS, float64
from ln_audit.numerics.judge import prepare
from ln_audit.numerics.reference import affine
from ln_audit.resolving_power.smallest_change import Smallest, smallest_changes
from tests.numerics.runs import gain_and_bias, rows_of
from tests.resolving_power.recorded import compared, norm, resolved, suspected


def stored(x, parameters, out, early):
    """A run in exact arithmetic, stored in `out`."""
    suspect, _ = suspected(x, parameters, out)
    z = prepare(float64(x), suspect.setting).z
    z = FORMATS[out].round(z) if early else z
    return FORMATS[out].round(affine(z, parameters.gain, parameters.bias))


@pytest.mark.parametrize("out", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("kind", "early"), [("layer_norm", 0), ("rms_norm", 0), ("rms_norm", 1)])
def test_twice_the_change_is_seen_either_way_and_half_of_it_is_not_in_one(kind, early, out):
    if out == "float32" and early:
        pytest.skip("nothing is rounded before the gain where the output is not narrower")
    x, parameters = rows_of("plain", 48, 24), norm(48, kind)
    assert parameters.gain is not None
    assert parameters.bias is not None
    if out != "float32":  # exact in the output's dtype, so that there is one form of them
        gain, bias = np.round(parameters.gain * 32) / 32, np.round(parameters.bias * 32) / 32
        parameters = replace(parameters, gain=gain, bias=bias)
    suspect, ways = suspected(x, parameters, out)
    own = next(way for way in ways if (way.chain.early if way.chain else 0) == early)
    held = replace(parameters, chain=own.chain.name if own.chain else None)

    def fits(what, channel, change):
        values = float64(getattr(parameters, what))
        values[channel] *= 1 + change
        changed = replace(parameters, gain=values) if what == "gain" else replace(parameters, bias=values)
        after = stored(x, changed, out, early)
        return compared(x, after, held, output_dtype=out).status == "pass"

    changes = smallest_changes(float64(x), suspect, own, [own])
    assert [each.parameter for each in changes] == ["gain", "bias"]
    for each in changes:
        assert np.isfinite(each.relative[getattr(parameters, each.parameter) != 0]).all()
        for channel in (each.strongest, each.weakest, 7):
            seen = each.relative[channel]
            assert not any(fits(each.parameter, channel, sign * 2 * seen) for sign in (1, -1))
            assert any(fits(each.parameter, channel, sign * seen / 2) for sign in (1, -1))


def test_the_weakest_channel_is_the_one_that_moves_least():
    x = rows_of("plain", 48, 24)
    x[:, 5] = x[:, [0, 1, 2, 3, 4]].mean(axis=1)
    gain, _ = gain_and_bias(48)
    gain[31] *= np.float32(1e-4)
    found = resolved(x, norm(48, gain=gain))
    of_gain, of_bias = found.smallest_changes
    assert (of_gain["parameter"], of_gain["weakest_channel"], of_gain["unseen_channels"]) == ("gain", 31, 0)
    assert 1e-7 < of_gain["smallest"] < of_gain["largest"] < 1
    assert (of_bias["parameter"], of_bias["unseen_channels"]) == ("bias", 0)


def test_where_nothing_can_be_seen_it_is_infinite_and_a_zero_has_no_relative_change():
    x = np.repeat(np.array([[3.0], [4.0]], np.float32), 16, axis=1)  # constant rows: z is 0, only the bias is left
    bias = np.linspace(-1, 1, 16).astype(np.float32)
    bias[3] = 0
    found = resolved(x, norm(16, bias=bias))
    gain, bias_change = found.smallest_changes
    assert (gain["smallest"], gain["largest"], gain["unseen_channels"]) == (np.inf, np.inf, 16)
    assert bias_change["unseen_channels"] == 0
    assert bias_change["weakest_channel"] != 3
    assert 0 < bias_change["largest"] < 0.1


def test_a_norm_without_parameters_has_none():
    assert resolved(rows_of("plain", 16, 8), norm(16, gain=None, bias=None)).smallest_changes == ()
    (only,) = resolved(rows_of("plain", 16, 8), norm(16, bias=None)).smallest_changes
    assert only["parameter"] == "gain"


def test_all_zero_parameters_have_no_channel():
    none = Smallest("bias", np.full(4, np.nan))
    assert (none.weakest, none.strongest, none.unseen) == (None, None, 0)
    some = Smallest("bias", np.array([0.5, np.nan, np.inf, 0.25]))
    assert (some.weakest, some.strongest, some.unseen) == (2, 3, 1)


def test_rows_beyond_the_first_order_say_nothing_of_a_parameter():
    x = np.vstack([1e9 + np.arange(16.0), np.arange(16.0)])
    suspect, (way,) = suspected(x, norm(16))
    both = smallest_changes(x, suspect, way, [way])
    one = smallest_changes(x[1:], suspect, way, [way])
    for these, those in zip(both, one, strict=True):
        assert np.array_equal(these.relative, those.relative, equal_nan=True)


def test_every_way_that_the_run_may_have_gone_must_show_it():
    x = float64(rows_of("plain", 48, 8))
    suspect, ways = suspected(x, norm(48), "bfloat16")
    sharp = smallest_changes(x, suspect, ways[0], [ways[0]])[0].relative
    blunt = smallest_changes(x, suspect, ways[0], ways[:2])[0].relative
    assert (blunt >= sharp).all()
    assert (blunt > sharp).any()
