import math

import numpy as np
import pytest

from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, float64
from ln_audit.numerics.terms import Terms, row_numbers
from tests.numerics.runs import BF16, KINDS_OF_ROWS, rows_of

pytest.importorskip("numba", reason="needs the extra `fast`: pip install ln-audit[fast]")

from ln_audit.numerics import compiled
from ln_audit.numerics.fast_numba import _constants

EVERY = np.arange(2**16, dtype=np.uint32).astype(np.uint16)


def told(output, chain=None, centred=True, d=768):
    return Terms(centred, 1e-5, math.sqrt(d) + 4, FLOAT32, output, chain, np.ones(d), np.zeros(d))


@pytest.mark.parametrize(("dtype", "widen"), [(BF16, "widen_bfloat16"), (np.dtype(np.float16), "widen_float16")])
def test_every_number_of_two_bytes_is_widened_exactly(dtype, widen):
    wide = np.empty(2**16, np.uint32)
    getattr(compiled, widen)(EVERY, wide)
    found, expected = wide.view(np.float32), EVERY.view(dtype).astype(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("output", [BFLOAT16, FLOAT16], ids=lambda each: each.name)
def test_rounding_is_to_the_nearest_number_of_the_output(output):
    z = np.random.default_rng(0).standard_normal(2000) * np.exp(np.random.default_rng(1).uniform(-25, 6, 2000))
    constants = _constants(told(output))
    assert [compiled.rounded(each, constants) for each in z] == output.round(z).tolist()


@pytest.mark.parametrize(("output", "dtype"), [(BFLOAT16, BF16), (FLOAT16, np.dtype(np.float16))], ids=str)
def test_a_gap_is_half_the_way_to_the_neighbour(output, dtype):
    numbers = float64(EVERY[: 2**15].view(dtype))
    numbers = numbers[np.isfinite(numbers)]
    constants = _constants(told(output))
    at = [*range(5), *range(1020, 1030), *np.random.default_rng(0).integers(5, len(numbers) - 1, 500)]
    for index in at:
        value = float(numbers[index])
        bits = np.float32(value).view(np.uint32)
        assert compiled.gap(bits, value, True, constants) == (numbers[index + 1] - value) / 2
        below = numbers[index - 1] if index else -numbers[1]
        assert compiled.gap(bits, value, False, constants) == (value - below) / 2


@pytest.mark.parametrize("kind", KINDS_OF_ROWS)
@pytest.mark.parametrize("centred", [True, False])
def test_a_rows_numbers_are_the_references(kind, centred):
    x = rows_of(kind, 768, 8)
    terms = told(FLOAT32, centred=centred)
    expected, judged = row_numbers(x.astype(np.float64), terms)
    for row, want, fine in zip(x, expected, judged.ravel(), strict=True):
        found, sound = compiled.statistics(row, centred, _constants(terms))
        assert (found, sound) == (pytest.approx(tuple(want), rel=1e-12), fine)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_not_sound(value):
    x = rows_of("plain", 768, 1)[0]
    x[700] = value
    assert not compiled.statistics(x, True, _constants(told(FLOAT32)))[1]
    assert not compiled.statistics(x, False, _constants(told(FLOAT32)))[1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nothing_that_is_not_finite_is_held(value):
    x, row = rows_of("plain", 768, 1)[0], (0.0, 1.0, 1e-6, 1e-6)
    recorded = x.copy()
    recorded[700] = value
    constants, ones, zeros = _constants(told(FLOAT32)), np.ones(768), np.zeros(768)
    beyond, top = compiled.hold(x, recorded, ones, zeros, row, constants, 1.0)
    assert beyond == 1
    assert not np.int64(top).view(np.float64) < np.inf
    assert compiled.largest(x, recorded, ones, zeros, row, constants) == np.inf
