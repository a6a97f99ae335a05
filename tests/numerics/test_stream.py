from dataclasses import replace

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.numerics import stream
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ln_audit.numerics.judge import Hypothesis, Setting, prepare
from ln_audit.numerics.parameters import Variant
from ln_audit.numerics.stream import (
    BLOCK_ELEMENTS,
    block_rows,
    blocks,
    picked,
    summation_order,
    survey,
    undeclared_rounding,
)
from ln_audit.numerics.summation import LANES
from ln_audit.numerics.tally import NonfiniteCount
from tests.numerics.runs import BF16, ArrayRows, backwards, gain_and_bias, one_by_one, rows_of, run

SETTING = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)


def hypothesis(d, chain=None):
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(d))
    return Hypothesis(Variant("float32", gain, bias), None if chain is None else CHAINS[chain])


def recorded(x, **options):
    return ArrayRows(x, run(x, *gain_and_bias(x.shape[1]), **options))


@pytest.mark.parametrize(
    ("width", "rows"), [(1, BLOCK_ELEMENTS), (768, BLOCK_ELEMENTS // 768), (BLOCK_ELEMENTS + 1, 1)]
)
def test_a_block_is_as_many_whole_rows_as_fit(width, rows):
    assert block_rows(width) == rows


def test_blocks_are_numbered_by_their_first_row_and_in_float64():
    x = rows_of("plain", 4096, 20)
    found = list(blocks(ArrayRows(x, x.astype(BF16))))
    assert [block.first_row for block in found] == [0, 8, 16]
    assert {block.before.dtype for block in found} | {block.after.dtype for block in found} == {np.dtype(np.float64)}
    assert np.array_equal(np.concatenate([block.before for block in found]), x)


def test_a_survey_over_many_blocks_finds_what_one_block_shows():
    x = rows_of("plain", 4096, 20)
    rows = recorded(x)
    rows.after[17, 99] += 0.25
    found = survey(rows, [hypothesis(4096)], SETTING)
    tally = found.tallies[0]
    assert tally.worst is not None
    assert (tally.judged, tally.over, tally.worst.row, tally.worst.channel) == (x.size, 1, 17, 99)
    assert found.before == found.after == NonfiniteCount()


def test_a_survey_counts_what_is_not_finite_on_both_sides():
    x = rows_of("plain", 4096, 20)
    rows = recorded(x)
    rows.after[18, 7] = np.nan
    rows.before[19, 3] = np.inf
    found = survey(rows, [hypothesis(4096)], SETTING)
    assert found.before == NonfiniteCount(inf=1, first=19 * 4096 + 3)
    assert found.after == NonfiniteCount(nan=1, first=18 * 4096 + 7)
    assert found.tallies[0].judged == 19 * 4096


def test_an_input_that_is_not_what_was_declared_is_refused_with_its_place():
    x = rows_of("plain", 4096, 20).astype(BF16).astype(np.float32)
    x[17, 5] = 1 / 3
    with pytest.raises(RecordingError) as error:
        survey(recorded(x), [hypothesis(4096)], replace(SETTING, before_rounded=BFLOAT16))
    assert error.value.message == (
        "before: row 17 channel 5: expected a bfloat16 number, as declared by before_rounded, found 0.3333333432674408"
    )


def test_a_strictly_sequential_sum_is_explained_by_one_lane():
    rows = recorded(rows_of("one-hot", 4096), total=one_by_one)
    assert not survey(rows, [hypothesis(4096)], SETTING).tallies[0].clean
    assert summation_order(rows, hypothesis(4096), SETTING) == (1, True)


def test_eight_lanes_are_found_where_they_and_no_fewer_explain():
    def eight(x):
        return one_by_one(np.concatenate([one_by_one(x[:, lane::8]) for lane in range(8)], axis=1))

    rows = recorded(rows_of("constant", 16384, 8), total=eight)
    assert not survey(rows, [hypothesis(16384)], SETTING).tallies[0].clean
    assert summation_order(rows, hypothesis(16384), SETTING) == (8, True)


def test_an_order_that_is_not_simulated_is_bounded_but_not_explained():
    rows = recorded(rows_of("one-hot", 4096), total=backwards)
    assert summation_order(rows, hypothesis(4096), SETTING) == (None, True)


def test_a_fault_beyond_the_worst_case_is_not_bounded():
    rows = recorded(rows_of("plain", 768), ddof=1)
    assert summation_order(rows, hypothesis(768), SETTING) == (None, False)


def test_rows_that_say_nothing_are_explained_by_no_order():
    x = np.full((3, 16), np.nan, dtype=np.float32)
    assert summation_order(ArrayRows(x, x), hypothesis(16), SETTING) == (None, True)


@pytest.mark.parametrize(("cast", "form"), [(BF16, BFLOAT16), (np.float16, FLOAT16)])
def test_an_input_that_was_rounded_later_is_recognised(cast, form):
    x = rows_of("plain", 768)
    rows = ArrayRows(x.astype(cast), recorded(x).after)
    assert undeclared_rounding(rows, [hypothesis(768)], 0, SETTING) is form


def test_a_float64_run_may_have_saved_its_input_as_float32():
    x = np.random.default_rng(1).standard_normal((32, 768))
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(768))
    delta = x - x.mean(axis=1, keepdims=True)
    after = delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5) * gain + bias
    rows = ArrayRows(x.astype(np.float32), after)
    setting = Setting("layer_norm", 1e-5, FLOAT64, FLOAT64)
    assert undeclared_rounding(rows, [hypothesis(768)], 0, setting) is FLOAT32


def test_an_input_of_full_precision_was_not_rounded():
    x = rows_of("plain", 768)
    assert undeclared_rounding(recorded(x, eps=1e-3), [hypothesis(768)], 0, SETTING) is None


def test_an_input_in_the_compute_dtype_is_never_called_rounded():
    x = np.random.default_rng(2).standard_normal((32, 768))
    delta = x - x.mean(axis=1, keepdims=True)
    z = delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5)
    gain, bias = gain_and_bias(768)
    rows = ArrayRows(x.astype(np.float32), (z * gain + bias).astype(np.float32) * np.float32(1 + 2**-20))
    assert undeclared_rounding(rows, [hypothesis(768)], 0, replace(SETTING, compute=FLOAT32)) is None


@pytest.mark.parametrize("fault", [{"eps": 1e-6}, {"eps": 1e-4}, {"ddof": 1}, {"kind": "rms_norm"}])
def test_a_fault_is_not_taken_for_a_rounding_of_the_input(fault):
    x = rows_of("plain", 768).astype(BF16)
    assert undeclared_rounding(recorded(x, **fault), [hypothesis(768)], 0, SETTING) is None


@pytest.mark.parametrize("fault", [{"eps": 1e-6}, {"ddof": 1}])
def test_a_fault_of_a_bfloat16_run_is_not_taken_for_a_rounding_of_the_input(fault):
    x = rows_of("plain", 768).astype(BF16)
    setting = Setting("layer_norm", 1e-5, FLOAT32, BFLOAT16)
    both = [hypothesis(768, "once"), hypothesis(768, "before_gain")]
    assert undeclared_rounding(recorded(x, out=BF16, **fault), both, 0, setting) is None


@pytest.fixture
def looked_at(monkeypatch):
    """How many rows were normed, block by block."""
    counted: list[int] = []

    def counting(before, setting):
        counted.append(len(before))
        return prepare(before, setting)

    monkeypatch.setattr(stream, "prepare", counting)
    return counted


def test_picked_rows_come_in_order_each_once_with_their_numbers():
    x = rows_of("plain", 4096, 20)
    found = list(picked(ArrayRows(x, x + 1), [17, 3, 17, 4]))
    assert [block.first_row for block in found] == [3, 4, 17]
    assert all(np.array_equal(block.before, x[[block.first_row]]) for block in found)
    assert all(np.array_equal(block.after, x[[block.first_row]] + 1) for block in found)
    assert list(picked(ArrayRows(x, x), [])) == []


def test_a_wrong_row_at_the_end_ends_the_search_for_an_order_at_once(looked_at):
    rows = recorded(rows_of("plain", 768, 500))
    rows.after[499, 767] = 9
    assert summation_order(rows, hypothesis(768), SETTING) == (None, False)
    without = sum(looked_at)
    looked_at.clear()
    assert summation_order(rows, hypothesis(768), SETTING, {499}) == (None, False)
    assert (sum(looked_at), without > 7 * 450) == (1, True)


def test_orders_that_the_worst_row_rules_out_are_not_tried_on_the_others(looked_at):
    rows = recorded(rows_of("one-hot", 4096), total=backwards)
    worst = survey(rows, [hypothesis(4096)], SETTING).tallies[0].worst_rows
    looked_at.clear()
    assert summation_order(rows, hypothesis(4096), SETTING, worst) == (None, True)
    assert sum(looked_at) == len(worst) * (1 + len(LANES)) + rows.positions


@pytest.mark.parametrize("row", [0, 7])
def test_an_order_that_explains_is_found_whatever_is_looked_at_first(row):
    rows = recorded(rows_of("one-hot", 4096), total=one_by_one)
    assert summation_order(rows, hypothesis(4096), SETTING, {row}) == (1, True)


def test_a_wrong_row_at_the_end_is_at_once_no_rounding_of_the_input(looked_at):
    x = rows_of("plain", 768, 500)
    rows = ArrayRows(x.astype(BF16), recorded(x).after)
    assert undeclared_rounding(rows, [hypothesis(768)], 0, SETTING, {3, 499}) is BFLOAT16
    rows.after[499, 767] = 90
    looked_at.clear()
    assert undeclared_rounding(rows, [hypothesis(768)], 0, SETTING, {499}) is None
    assert sum(looked_at) == 1
