"""The interval of an honest run is the one that a comparison judges by."""

import numpy as np
import pytest

from ln_audit.numerics.floats import FORMATS, float64
from ln_audit.numerics.judge import Hypothesis, judge, prepare
from ln_audit.resolving_power.bounds import bounds
from tests.numerics.runs import rows_of
from tests.resolving_power.recorded import norm, suspected


@pytest.mark.parametrize("out", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("rows", ["plain", "mean of 100 sigma", "constant"])
def test_every_way_has_the_ends_that_a_comparison_holds_it_to(kind, out, rows):
    x = float64(rows_of(rows, 48, 8))
    suspect, ways = suspected(x, norm(48, kind), out)
    assert len(ways) == {"float32": 1}.get(out, 4)
    prepared = prepare(x, suspect.setting)
    for way in ways:
        mine = bounds(prepared, way.form, way.chain, suspect.setting)
        held = judge(prepared, FORMATS[out].round(mine.y), Hypothesis(way.form, way.chain), suspect.setting)
        for one, other in ((mine.y, held.y), (mine.e, held.e), (mine.low, held.low), (mine.high, held.high)):
            assert np.array_equal(one, other)
        assert np.array_equal(mine.judged, held.judged)


def test_a_row_that_says_nothing_is_not_judged():
    x = np.vstack([np.zeros((1, 16)), 1e9 + np.arange(16.0), np.arange(16.0)])
    suspect, (way,) = suspected(x, norm(16, eps=0.0))
    judged = bounds(prepare(x, suspect.setting), way.form, way.chain, suspect.setting).judged
    assert judged.all(axis=1).tolist() == [False, False, True]
    assert judged.any(axis=1).tolist() == [False, False, True]
