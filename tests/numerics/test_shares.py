"""The map and the distribution of error ratios say what the comparison says, whatever was recorded."""

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from ln_audit.numerics.shares import EDGES, MOST_COLUMNS, MOST_ROWS
from ln_audit.numerics.terms import NOISE
from tests.reports.gpt2_sized import Rows


def made(positions: int, width: int, dtype: Any = np.float32, eps: float = 1e-5) -> tuple[Any, Any, NormParameters]:
    random = np.random.default_rng(positions * width)
    gain, bias = (random.normal(middle, 0.2, width).astype(np.float32) for middle in (1, 0))
    x = random.normal(0, 0.1, (positions, width)).astype(np.float32)
    centred = x - x.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(eps)) * gain + bias
    return x, y.astype(dtype), NormParameters("layer_norm", gain, bias, 1e-5)


def judged(x: Any, y: Any, parameters: NormParameters, **given: Any) -> Any:
    return compare(Rows(x, y), parameters, norm="n", recording="r", provenance="p", pictures=True, **given)


@pytest.mark.parametrize(
    ("positions", "width", "dtype", "eps"),
    [
        (3, 5, np.float32, 1e-5),
        (300, 700, np.float32, 1e-5),
        (129, 257, np.float32, 1e-3),
        (40, 64, bfloat16, 1e-5),
        (40, 64, np.float16, 1e-2),
        (1, 1000, np.float32, 1e-6),
    ],
)
def test_the_largest_share_is_the_comparisons_largest_error_ratio(positions, width, dtype, eps):
    x, y, parameters = made(positions, width, dtype, eps)
    rows = Rows(x, y)
    rows.after_dtype = np.dtype(dtype).name
    found = compare(rows, parameters, norm="n", recording="r", provenance="p", pictures=True)
    assert found.shares is not None
    assert found.shares.largest == found.max_error_ratio
    assert sum(found.shares.counts) == found.elements - found.unjudged
    assert (found.shares.over == 0) == (found.max_error_ratio <= 1)


def test_a_large_recording_is_judged_by_a_fast_kernel_which_is_as_near_as_it_says():
    x, y, parameters = made(8192, 768)
    found = judged(x, y, parameters)
    assert found.status == "pass"
    assert found.shares.largest == pytest.approx(found.max_error_ratio, rel=NOISE, abs=0)
    assert (len(found.shares.cells), len(found.shares.cells[0])) == (MOST_ROWS, MOST_COLUMNS)
    assert (found.shares.rows_per_cell, found.shares.channels_per_cell) == (64, 3)


def test_each_cell_holds_the_largest_of_its_elements():
    x, y, parameters = made(300, 700)
    y[217, 431] += 1
    found = judged(x, y, parameters)
    shares = found.shares
    assert (len(shares.cells), len(shares.cells[0])) == (100, 234)
    assert shares.cells[217 // 3][431 // 3] == found.max_error_ratio
    over = [(i, j) for i, row in enumerate(shares.cells) for j, share in enumerate(row) if share > 1]
    assert (over, shares.over) == ([(217 // 3, 431 // 3)], 1)


def test_bins_end_on_their_edges_so_that_the_tolerance_itself_is_within_it():
    assert EDGES[20] == 1.0
    x, y, parameters = made(300, 700)
    y[5, 5] += 1
    shares = judged(x, y, parameters).shares
    assert len(shares.counts) == len(shares.edges) + 1
    assert shares.over == sum(shares.counts[21:]) == 1


def test_what_is_wrong_whatever_its_share_is_marked():
    x, y, parameters = made(10, 6)
    y[3, 4] = np.nan
    found = judged(x, y, parameters)
    assert (found.finding, found.shares.marked) == ("nonfinite-output", ((3, 4),))
    assert found.shares.cells[3][4] is None
    assert found.shares.largest == found.max_error_ratio


def test_elements_outside_their_rounding_cell_are_marked():
    x, y, parameters = made(10, 6, bfloat16)
    for column in range(6):
        y[3, column] = np.nextafter(y[3, column], bfloat16(100))
    found = judged(x, y, parameters, output_dtype="bfloat16")
    assert found.outside_cells >= 1
    assert len(found.shares.marked) == found.outside_cells
    assert {row for row, _ in found.shares.marked} == {3}


def test_rows_that_say_nothing_are_clear():
    x, y, parameters = made(4, 6)
    x[2] = np.inf
    y[2] = 0
    found = judged(x, y, parameters)
    assert found.shares.cells[2] == (None,) * 6


def test_memory_stays_flat():
    import tracemalloc

    x, y, parameters = made(8, 768)

    class Long(Rows):
        def blocks(self, rows: int):
            for _ in range(self.positions // 8):
                yield self.before, self.after

    rows = Long(x, y)
    rows.positions, rows.leading = 40_000, (40_000,)
    from ln_audit.numerics.floats import FLOAT32
    from ln_audit.numerics.judge import Hypothesis, Setting
    from ln_audit.numerics.parameters import variants
    from ln_audit.numerics.shares import shares

    setting = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)
    tracemalloc.start()
    found = shares(rows, Hypothesis(variants(parameters, FLOAT32)[0], None), setting)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(found.counts) == 40_000 * 768
    assert peak < 8e6


def test_nothing_judged_has_no_map():
    x, y, parameters = made(2, 4)
    x[:] = np.inf
    assert judged(x, y, parameters).shares is None


def test_without_pictures_the_rows_are_walked_no_more_than_before():
    x, y, parameters = made(10, 6)

    class Counted(Rows):
        walks = 0

        def blocks(self, rows: int):
            self.walks += 1
            return super().blocks(rows)

    plain, drawn = Counted(x, y), Counted(x, y)
    found = compare(plain, parameters, norm="n", recording="r", provenance="p")
    compare(drawn, parameters, norm="n", recording="r", provenance="p", pictures=True)
    assert found.shares is None
    assert drawn.walks == plain.walks + 1
