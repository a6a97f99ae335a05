from dataclasses import replace

import numpy as np
import pytest

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, SMALLEST
from ln_audit.numerics.judge import Hypothesis, Setting, prepare
from ln_audit.numerics.parameters import Variant
from ln_audit.numerics.reference import affine, layer_norm
from ln_audit.numerics.terms import MOST, Terms, row_numbers, terms
from tests.numerics.runs import KINDS_OF_ROWS, gain_and_bias, rows_of

SETTING = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)


def hypothesis(gain, bias, chain=None):
    return Hypothesis(Variant("", gain, bias), CHAINS[chain] if chain else None)


def test_absent_parameters_are_ones_and_zeros():
    told = terms(hypothesis(None, None), SETTING, 4)
    assert told is not None
    assert (told.gain.tolist(), told.bias.tolist()) == ([1.0] * 4, [0.0] * 4)
    assert (told.width, told.centred, told.eps, told.k) == (4, True, 1e-5, 6.0)
    assert (told.compute, told.output, told.chain) == (FLOAT32, FLOAT32, None)


@pytest.mark.parametrize(
    ("output", "compute", "chain", "expected"),
    [
        (FLOAT32, FLOAT32, None, (0, 0.0, 2.0**-150)),
        (FLOAT64, FLOAT64, None, (0, 0.0, SMALLEST)),
        (BFLOAT16, FLOAT32, "once", (0, 2.0**-8, 2.0**-134)),
        (FLOAT16, FLOAT32, "before_gain", (1, 2.0**-11, 2.0**-25)),
    ],
)
def test_what_storing_adds_to_a_bound(output, compute, chain, expected):
    told = terms(hypothesis(None, None, chain), replace(SETTING, compute=compute, output=output), 4)
    assert told is not None
    assert (told.early, told.stored_u, told.half_eta) == expected


@pytest.mark.parametrize("chain", [None, "once", "before_gain"])
def test_the_five_terms_are_the_tolerance(chain):
    output = BFLOAT16 if chain else FLOAT32
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(64))
    setting = replace(SETTING, output=output)
    told = terms(hypothesis(gain, bias, chain), setting, 64)
    assert told is not None
    x = rows_of("plain", 64).astype(np.float64)
    slope, offset = np.hsplit(row_numbers(x, told)[0], 4)[2:]
    z = layer_norm(x, None, None, 1e-5).z
    y, gz, u = affine(z, gain, bias), gain * z, FLOAT32.u
    e_c = slope * np.abs(gz) + offset * np.abs(gain) + 2 * u * np.abs(y) + u * np.abs(bias)
    e = e_c + told.stored_u * (np.abs(y) + told.early * np.abs(gz)) + told.half_eta * (1 + told.early * np.abs(gain))
    bound = tolerance.compute_bound(y, prepare(x, setting).e_z, gain, bias, u)
    stored = tolerance.stored_bound(bound, y, z, gain, compute=FLOAT32, output=output, early=told.early)
    assert e == pytest.approx(stored, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    "changed", [{"before_rounded": BFLOAT16}, {"worst_case": True}, {"lanes": 4}], ids=lambda each: next(iter(each))
)
def test_what_only_the_reference_judges_has_no_terms(changed):
    assert terms(hypothesis(None, None), replace(SETTING, **changed), 4) is None


@pytest.mark.parametrize("value", [MOST, -MOST, np.inf, np.nan])
def test_parameters_of_absurd_size_have_no_terms(value):
    absurd, ones = np.array([1.0, value]), np.ones(2)
    assert terms(hypothesis(absurd, None), SETTING, 2) is None
    assert terms(hypothesis(ones, absurd), SETTING, 2) is None
    assert terms(hypothesis(ones * MOST / 4, None), SETTING, 2) is not None


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
def test_row_numbers_give_the_references_bound(kind, kind_of_rows):
    setting = replace(SETTING, kind=kind)
    x = rows_of(kind_of_rows, 64).astype(np.float64)
    told = terms(hypothesis(None, None), setting, 64)
    assert isinstance(told, Terms)
    numbers, judged = row_numbers(x, told)
    mu, r, slope, offset = np.hsplit(numbers, 4)
    prepared = prepare(x, setting)
    assert np.array_equal((x - mu) * r, prepared.z)
    assert np.array_equal(slope * np.abs(prepared.z) + offset, prepared.e_z)
    assert np.array_equal(judged, prepared.judged)
