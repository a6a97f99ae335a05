"""Both fast kernels agree with the reference, whatever rows, faults and parameters they are given."""

from importlib.util import find_spec

import pytest

from ln_audit.numerics import fast_numba, fast_numpy
from tests.numerics.kernel_cases import (
    OUTPUTS,
    WIDTHS,
    assert_agrees,
    case,
    corrupted,
    honest,
    honest_float64,
    positions,
)
from tests.numerics.runs import F32, KINDS_OF_ROWS, gain_and_bias, rows_of, run

_NO_NUMBA = pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra `fast`: pip install ln-audit[fast]")
KERNELS = [pytest.param(fast_numpy, id="numpy"), pytest.param(fast_numba, id="numba", marks=_NO_NUMBA)]
pytestmark = pytest.mark.parametrize("kernel", KERNELS)


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_with_the_reference_on_every_kind_of_rows(kernel, d, kind_of_rows, kind):
    for out, chain in OUTPUTS:
        assert_agrees(kernel, honest(kind_of_rows, d, positions(d), out, chain, kind))


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_on_corrupted_recordings(kernel, d, seed):
    out, chain = OUTPUTS[seed % 5]
    assert_agrees(kernel, corrupted(honest(KINDS_OF_ROWS[seed % 6], d, positions(d), out, chain), seed))


@pytest.mark.parametrize("d", [2, 16, 768, 4096])
def test_it_agrees_on_rows_whose_mean_is_ten_thousand_times_their_spread(kernel, d):
    x = rows_of("plain", d, positions(d)) + F32(10_000)
    gain, bias = gain_and_bias(d)
    assert_agrees(kernel, case(x, run(x, gain, bias)))
    assert_agrees(kernel, case(x, run(x, gain, bias, one_pass=True)))


@pytest.mark.parametrize("d", [1, 3, 768, 4096])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_on_float64_runs(kernel, d, kind):
    assert assert_agrees(kernel, honest_float64(d, positions(d), kind))
    assert_agrees(kernel, corrupted(honest_float64(d, positions(d), kind), 1))


@pytest.mark.parametrize(("gain", "bias"), [(None, None), (None, ...), (..., None)])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_it_agrees_where_parameters_are_absent(kernel, gain, bias, kind):
    absent = {name: None for name, value in (("gain", gain), ("bias", bias)) if value is None}
    for out, chain in OUTPUTS:
        assert assert_agrees(kernel, honest("plain", 768, positions(768), out, chain, kind, **absent))
