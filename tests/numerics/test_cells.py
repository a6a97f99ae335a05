from fractions import Fraction

import numpy as np
import pytest

from ln_audit.numerics.cells import CHAINS, Computed, before_gain, once
from ln_audit.numerics.floats import BFLOAT16, FLOAT16
from tests.numerics.runs import nearest

U = 2.0**-24


def rounded(value, form):
    return nearest(Fraction(value), form.precision, form.emin, form.emax)


def computed(gain=None, bias=None, e_z=1e-3, e_c=2e-3):
    z = np.array([[0.7, -1.3, 2.1]])
    y = z if gain is None else gain * z
    y = y if bias is None else y + bias
    return Computed(z, np.full_like(z, e_z), y, np.full_like(z, e_c), gain, bias, U)


@pytest.mark.parametrize("form", [BFLOAT16, FLOAT16], ids=lambda form: form.name)
def test_once_rounds_both_ends_of_the_computed_interval(form):
    c = computed()
    low, high = once(c, form)
    assert low[0].tolist() == [rounded(y - 2e-3, form) for y in c.y[0].tolist()]
    assert high[0].tolist() == [rounded(y + 2e-3, form) for y in c.y[0].tolist()]
    assert (low < high).all()


@pytest.mark.parametrize("form", [BFLOAT16, FLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize("bias", [None, np.array([0.3, -40.0, 5000.0])])
@pytest.mark.parametrize("gain", [None, np.array([1.7, -0.9, 3.3])])
def test_before_gain_rounds_z_then_the_product(form, gain, bias):
    c = computed(gain, bias)
    low, high = before_gain(c, form)
    for i, z in enumerate(c.z[0].tolist()):
        g = 1.0 if gain is None else float(gain[i])
        b = 0.0 if bias is None else float(bias[i])
        ends = sorted(g * rounded(end, form) + b for end in (z - 1e-3, z + 1e-3))
        wide = [2 * U * abs(end) + U * abs(b) for end in ends]
        assert low[0, i] == rounded(ends[0] - wide[0], form)
        assert high[0, i] == rounded(ends[1] + wide[1], form)


def test_the_widening_of_before_gain_is_twice_u_of_the_product_and_u_of_the_bias():
    """Ends that lie a hair off a tie, so that each term of the widening decides."""
    z = np.array([[1.0]])
    tie = 1 + 2.0**-8  # between two bfloat16 numbers

    def ends(gain, bias=None, scale=1.0):
        c = Computed(z, np.zeros_like(z), z, z, np.array([scale * gain]), bias, U)
        low, high = before_gain(c, BFLOAT16)
        return float(low[0, 0]) / scale, float(high[0, 0]) / scale

    assert ends(tie * (1 - 1.9 * U), scale=8) == (1.0, 1 + 2.0**-7)
    assert ends(tie * (1 - 2.2 * U), scale=8) == (1.0, 1.0)
    assert ends(tie * (1 + 1.9 * U), scale=8) == (1.0, 1 + 2.0**-7)
    assert ends(tie * (1 + 2.2 * U), scale=8) == (1 + 2.0**-7, 1 + 2.0**-7)

    assert ends(tie * (1 - 1.9 * U)) == (1.0, 1 + 2.0**-7)
    assert ends(tie * (1 - 2.2 * U)) == (1.0, 1.0)
    assert ends(tie * (1 + 1.9 * U)) == (1.0, 1 + 2.0**-7)
    assert ends(tie * (1 + 2.2 * U)) == (1 + 2.0**-7, 1 + 2.0**-7)
    bias = np.array([-64.0])
    assert ends(64 + tie * (1 + 60 * U), bias) == (1.0, 1 + 2.0**-7)
    assert ends(64 + tie * (1 + 70 * U), bias) == (1 + 2.0**-7, 1 + 2.0**-7)
    assert ends(64 + tie * (1 - 60 * U), bias) == (1.0, 1 + 2.0**-7)
    assert ends(64 + tie * (1 - 70 * U), bias) == (1.0, 1.0)


def test_an_overflow_is_a_cell_of_infinity():
    big = np.array([[65519.0, 65521.0, -65521.0]])
    c = Computed(big, np.zeros_like(big), big, np.full_like(big, 0.5), None, None, U)
    low, high = once(c, FLOAT16)
    assert low.tolist() == [[65504.0, np.inf, -np.inf]]
    assert high.tolist() == [[65504.0, np.inf, -np.inf]]


def test_the_registry_names_each_chain_once_with_its_early_roundings():
    assert {name: (chain.name, chain.early, chain.cell) for name, chain in CHAINS.items()} == {
        "once": ("once", 0, once),
        "before_gain": ("before_gain", 1, before_gain),
    }
