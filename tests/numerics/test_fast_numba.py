import os
import subprocess
import sys

import numpy as np
import pytest

from ln_audit.numerics import fast_numba
from tests.numerics.kernel_cases import (
    OUTPUTS,
    WIDTHS,
    Case,
    InSmallBlocks,
    assert_agrees,
    case,
    corrupted,
    honest,
    honest_float64,
    positions,
)
from tests.numerics.runs import BF16, F16, F32, KINDS_OF_ROWS, ArrayRows, gain_and_bias, rows_of, run

pytest.importorskip("numba", reason="needs the extra `fast`: pip install ln-audit[fast]")


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_with_the_reference_on_every_kind_of_rows(d, kind_of_rows, kind):
    for out, chain in OUTPUTS:
        assert_agrees(fast_numba, honest(kind_of_rows, d, positions(d), out, chain, kind))


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_on_corrupted_recordings(d, seed):
    out, chain = OUTPUTS[seed % 5]
    assert_agrees(fast_numba, corrupted(honest(KINDS_OF_ROWS[seed % 6], d, positions(d), out, chain), seed))


@pytest.mark.parametrize("d", [2, 16, 768, 4096])
def test_it_agrees_on_rows_whose_mean_is_ten_thousand_times_their_spread(d):
    x = rows_of("plain", d, positions(d)) + F32(10_000)
    gain, bias = gain_and_bias(d)
    assert_agrees(fast_numba, case(x, run(x, gain, bias)))
    assert_agrees(fast_numba, case(x, run(x, gain, bias, one_pass=True)))


@pytest.mark.parametrize("d", [1, 3, 768, 4096])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_on_float64_runs(d, kind):
    assert assert_agrees(fast_numba, honest_float64(d, positions(d), kind))
    assert_agrees(fast_numba, corrupted(honest_float64(d, positions(d), kind), 1))


@pytest.mark.parametrize(("gain", "bias"), [(None, None), (None, ...), (..., None)])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_where_parameters_are_absent(gain, bias, kind):
    absent = {name: None for name, value in (("gain", gain), ("bias", bias)) if value is None}
    for out, chain in OUTPUTS:
        assert assert_agrees(fast_numba, honest("plain", 768, positions(768), out, chain, kind, **absent))


@pytest.mark.parametrize(("out", "chain"), OUTPUTS, ids=str)
def test_it_clears_every_block_of_a_clean_recording_itself(out, chain):
    fast = InSmallBlocks(fast_numba)
    assert honest("plain", 768, positions(768, 20), out, chain).fast(fast) is not None
    assert len(fast.cleared) == 20
    assert sum(figures is not None for figures in fast.cleared) >= 19


@pytest.mark.parametrize("fault", [{"eps": 1e-6}, {"ddof": 1}, {"kind": "rms_norm"}])
def test_a_fault_in_every_element_is_left_to_the_reference(fault):
    for out, chain in OUTPUTS:
        x = rows_of("plain", 768, positions(768)).astype(out)
        after = run(x, *gain_and_bias(768), out=out, chain=chain or "once", **fault)
        assert not assert_agrees(fast_numba, case(x, after, chain=chain))


@pytest.mark.parametrize(("out", "chain"), OUTPUTS, ids=str)
def test_channels_whose_gain_and_bias_are_zero_are_held_to_zero(out, chain):
    gain, bias = gain_and_bias(768)
    gain[::7], bias[::7] = 0, 0
    good = honest("plain", 768, positions(768), out, chain, gain=gain, bias=bias)
    assert assert_agrees(fast_numba, good)
    after = good.rows.after.copy()
    after[-1, 7] = np.asarray(1e-38, BF16) if out == BF16 else np.nextafter(out.type(0), out.type(1))
    assert not assert_agrees(fast_numba, Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting))


@pytest.mark.parametrize(("out", "chain"), OUTPUTS[1:], ids=str)
def test_an_upcast_recording_is_judged_like_the_narrow_one(out, chain):
    good = honest("plain", 768, positions(768), out, chain)
    rows = ArrayRows(good.rows.before.astype(F32), good.rows.after.astype(np.float64))
    assert assert_agrees(fast_numba, Case(rows, good.hypotheses, good.setting))


@pytest.mark.parametrize("chain", ["once", "before_gain"])
def test_tiny_values_are_rounded_as_subnormal_numbers_are(chain):
    gain = np.full(768, 2.0**-12, F32)
    x = rows_of("plain", 768, positions(768)).astype(F16)
    after = run(x, gain, None, out=F16, chain=chain)
    assert assert_agrees(fast_numba, case(x, after, chain=chain, gain=gain, bias=None))


def test_it_is_available_unless_compiling_is_switched_off():
    code = "from ln_audit.numerics import fast_numba; print(fast_numba.available())"
    for switched_off, expected in (("0", "True\n"), ("1", "False\n")):
        environment = os.environ | {"NUMBA_DISABLE_JIT": switched_off}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout == expected
