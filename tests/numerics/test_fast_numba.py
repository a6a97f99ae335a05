import os
import subprocess
import sys

import numpy as np
import pytest

from ln_audit.numerics import fast_numba
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

pytest.importorskip("numba", reason="needs the extra `fast`: pip install ln-audit[fast]")


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
