import numpy as np
import pytest

from ln_audit.numerics import fast_numpy
from tests.numerics.kernel_cases import (
    OUTPUTS,
    Case,
    InSmallBlocks,
    assert_agrees,
    case,
    honest,
    positions,
)
from tests.numerics.runs import BF16, F16, F32, ArrayRows, gain_and_bias, rows_of, run


def test_it_clears_the_blocks_itself_once_it_knows_a_ratio():
    for out, chain in OUTPUTS:
        fast = InSmallBlocks(fast_numpy)
        assert honest("plain", 768, positions(768, 20), out, chain).fast(fast) is not None
        assert len(fast.cleared) == 20
        assert sum(figures is not None for figures in fast.cleared) > 15


@pytest.mark.parametrize("fault", [{"eps": 1e-6}, {"ddof": 1}, {"kind": "rms_norm"}])
def test_a_fault_in_every_element_is_left_to_the_reference(fault):
    x = rows_of("plain", 768, positions(768))
    assert not assert_agrees(fast_numpy, case(x, run(x, *gain_and_bias(768), **fault)))


def test_a_recording_that_is_badly_wrong_in_one_element_is_not_taken_for_its_own_bound():
    good = honest("plain", 768, positions(768))
    for wrong in (1e3, 1e30, -1e30):
        after = good.rows.after.copy()
        after[-1, 5] = wrong
        assert not assert_agrees(fast_numpy, Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting))


def test_channels_whose_gain_and_bias_are_zero_are_held_to_zero():
    gain, bias = gain_and_bias(768)
    gain[::7], bias[::7] = 0, 0
    for out, chain in OUTPUTS:
        good = honest("plain", 768, positions(768), out, chain, gain=gain, bias=bias)
        assert assert_agrees(fast_numpy, good)
        after = good.rows.after.copy()
        after[-1, 7] = np.nextafter(out.type(0), out.type(1)) if out != BF16 else np.asarray(1e-38, BF16)
        assert not assert_agrees(fast_numpy, Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting))


def test_a_block_that_float32_cannot_tell_from_zero_is_left_to_the_reference():
    d = 768
    gain = np.full(d, 1e-70)
    x = np.random.default_rng(0).standard_normal((positions(d), d))
    delta = x - x.mean(axis=1, keepdims=True)
    after = delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5) * gain
    assert assert_agrees(fast_numpy, case(x, after, gain=gain, bias=None))
    after[-1, 3] += 1e-75
    assert not assert_agrees(fast_numpy, case(x, after, gain=gain, bias=None))


@pytest.mark.parametrize("chain", ["once", "before_gain"])
def test_tiny_values_are_rounded_as_subnormal_numbers_are(chain):
    gain = np.full(768, 2.0**-12, F32)
    x = rows_of("plain", 768, positions(768)).astype(F16)
    after = run(x, gain, None, out=F16, chain=chain)
    assert assert_agrees(fast_numpy, case(x, after, chain=chain, gain=gain, bias=None))


def test_wide_rows_are_summed_without_threads():
    assert assert_agrees(fast_numpy, honest("plain", fast_numpy.THREADED_DOT + 1, 8))


def test_an_upcast_recording_is_judged_like_the_narrow_one():
    for out, chain in OUTPUTS[1:]:
        good = honest("plain", 768, positions(768), out, chain)
        rows = ArrayRows(good.rows.before.astype(F32), good.rows.after.astype(np.float64))
        assert assert_agrees(fast_numpy, Case(rows, good.hypotheses, good.setting))
