from dataclasses import replace

import numpy as np
import pytest

from ln_audit.numerics import fast_numpy
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.compare import compare
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, float64
from ln_audit.numerics.judge import Hypothesis, Setting, judge, prepare
from ln_audit.numerics.parameters import NormParameters, Variant
from ln_audit.numerics.passing import survey
from ln_audit.numerics.stream import survey as reference_survey
from ln_audit.numerics.tally import NonfiniteCount
from ln_audit.numerics.terms import RESOLVED, Figures
from tests.numerics.kernel_cases import BLOCK, Case, InSmallBlocks, assert_agrees, honest, positions
from tests.numerics.runs import BF16, F32, ArrayRows, gain_and_bias, rows_of, run

D = 768
SMALL = InSmallBlocks(fast_numpy)
ROWS_A_BLOCK = BLOCK // D


def parameters(chain=None):
    return NormParameters("layer_norm", *gain_and_bias(D), 1e-5, chain=chain)


@pytest.mark.parametrize("row", [0, ROWS_A_BLOCK - 1, ROWS_A_BLOCK, 3 * ROWS_A_BLOCK - 1, 3 * ROWS_A_BLOCK, -1])
@pytest.mark.parametrize("channel", [0, D - 1])
def test_one_wrong_element_is_found_wherever_it_lies_in_a_block(row, channel):
    good = honest("plain", D, positions(D))
    after = good.rows.after.copy()
    after[row, channel] += F32(1e-3)
    assert not assert_agrees(fast_numpy, Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting))


@pytest.mark.parametrize("row", [0, ROWS_A_BLOCK - 1, ROWS_A_BLOCK, 3 * ROWS_A_BLOCK, -1])
def test_the_worst_element_of_a_clean_recording_is_found_wherever_it_lies(row):
    good = honest("plain", D, positions(D))
    after = good.rows.after.copy()
    judged = judge(prepare(float64(good.rows.before), good.setting), after, good.hypotheses[0], good.setting)
    after[row, 11] = judged.y[row, 11] + 0.8 * judged.e[row, 11]
    case = Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting)
    assert assert_agrees(fast_numpy, case)
    found = case.fast(SMALL)
    assert found is not None
    assert found.tallies[0].worst is not None
    assert (found.tallies[0].worst.row, found.tallies[0].worst.channel) == (row % len(after), 11)


def test_repeated_rows_have_their_worst_element_where_it_is_first():
    x = np.tile(rows_of("plain", D, 7), (9, 1))
    rows = ArrayRows(x, run(x, *gain_and_bias(D)))
    good = honest("plain", D, 1)
    found = Case(rows, good.hypotheses, good.setting).fast(SMALL)
    assert found is not None
    assert found.tallies[0].worst is not None
    assert found.tallies[0].worst.row < 7


class LentRows(ArrayRows):
    """Rows in memory that can be walked in parts."""

    def lent_parts(self, rows, parts):
        each = -(-len(self.before) // parts // rows) * rows
        begins = range(0, len(self.before), each)
        return [(at, ArrayRows(self.before[at : at + each], self.after[at : at + each]).blocks(rows)) for at in begins]


def in_parts(case, parts):
    rows = LentRows(case.rows.before, case.rows.after)
    own = range(len(case.hypotheses))
    return survey(rows, case.hypotheses, case.setting, own, fast=SMALL, parts=parts)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("row", [0, 30, -1])
def test_what_the_parts_find_is_added_up_in_their_order(parts, row):
    good = honest("plain", D, positions(D, 9))
    before, after = good.rows.before.copy(), good.rows.after.copy()
    before[40, 3], before[41, 7] = np.nan, np.inf
    judged = judge(prepare(float64(before), good.setting), after, good.hypotheses[0], good.setting)
    after[row, 11] = judged.y[row, 11] + 0.8 * judged.e[row, 11]
    case = Case(ArrayRows(before, after), good.hypotheses, good.setting)
    slow, found = case.reference(), in_parts(case, parts)
    assert found is not None
    assert (found.before, found.after) == (slow.before, slow.after)
    assert found.tallies[0].judged == slow.tallies[0].judged
    assert found.tallies[0].worst == slow.tallies[0].worst
    assert found.tallies[0].max_abs_error == pytest.approx(slow.tallies[0].max_abs_error, rel=1e-6)


@pytest.mark.parametrize("row", [0, 30, -1])
def test_a_fault_in_any_part_is_left_to_the_reference(row):
    good = honest("plain", D, positions(D, 9))
    after = good.rows.after.copy()
    after[row, 3] += F32(1e-3)
    assert in_parts(Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting), 3) is None


def test_parts_that_agree_with_different_hypotheses_agree_with_none():
    x = rows_of("plain", D, positions(D, 8))
    gain, bias = gain_and_bias(D)
    half = len(x) // 2
    after = np.concatenate([run(x[:half], gain, bias), run(x[half:], gain * F32(2), bias)])
    hypotheses = [Hypothesis(Variant("", float64(g), float64(bias)), None) for g in (gain, gain * F32(2))]
    setting = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)
    assert survey(LentRows(x, after), hypotheses, setting, [0, 1], fast=SMALL, parts=2) is None


def test_a_recording_too_small_to_pay_is_left_to_the_reference():
    good = honest("plain", D, positions(D))
    assert survey(good.rows, good.hypotheses, good.setting, [0]) is None


def test_what_is_not_finite_is_counted_where_it_lies():
    good = honest("plain", D, positions(D))
    before = good.rows.before.copy()
    before[25, 3] = np.inf
    case = Case(ArrayRows(before, good.rows.after), good.hypotheses, good.setting)
    found = case.fast(SMALL)
    assert found is not None
    assert found.before == NonfiniteCount(inf=1, first=25 * D + 3)
    assert found.tallies[0].judged == case.reference().tallies[0].judged == before.size - D


def test_rows_that_say_nothing_are_left_out_as_the_reference_does():
    x = rows_of("plain", D, positions(D))
    x[33] = 7
    rows = ArrayRows(x, run(x, *gain_and_bias(D), eps=0.0))
    good = honest("plain", D, 1)
    case = Case(rows, good.hypotheses, replace(good.setting, eps=0.0))
    assert not assert_agrees(fast_numpy, case) or case.reference().tallies[0].judged == x.size - D


def both_chains(rows, **setting):
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(D))
    hypotheses = [Hypothesis(Variant("", gain, bias), chain) for chain in CHAINS.values()]
    return hypotheses, Setting("layer_norm", 1e-5, FLOAT32, BFLOAT16, **setting)


class ChainBlind:
    """NumPy's kernel for one chain, and for the other one that never clears a block."""

    NAME = "blind"
    PAYS_FROM = 0
    MOST_PARTS = 1

    def available(self):
        return True

    def kernel(self, terms):
        return SMALL.kernel(terms) if terms.early == 0 else Blind()


class Blind:
    rows = ROWS_A_BLOCK

    def judge(self, before, after, best):
        return None


def test_a_hypothesis_that_fails_is_dropped_and_the_others_go_on():
    x = rows_of("plain", D, positions(D)).astype(BF16)
    rows = ArrayRows(x, run(x, *gain_and_bias(D), out=BF16))
    hypotheses, setting = both_chains(rows)
    found = survey(rows, hypotheses, setting, [0, 1], fast=ChainBlind())
    assert found is not None
    once, before_gain = found.tallies
    assert once.clean
    assert once.judged == x.size
    assert not before_gain.within
    assert before_gain.judged == ROWS_A_BLOCK * D  # the rest was not looked at


def test_the_familys_own_chain_has_to_agree():
    x = rows_of("plain", D, positions(D)).astype(BF16)
    rows = ArrayRows(x, run(x, *gain_and_bias(D), out=BF16))
    hypotheses, setting = both_chains(rows)
    assert survey(rows, hypotheses, setting, [1], fast=ChainBlind()) is None


def test_an_inferred_dtype_that_does_not_hold_to_the_end_is_not_passed():
    good = honest("plain", D, positions(D), BF16, "once")
    after = good.rows.after.astype(F32)
    after[-1, -1] *= F32(1 + 2.0**-12)
    assert Case(ArrayRows(good.rows.before, after), good.hypotheses, good.setting).fast(SMALL) is None


class Unresolved:
    """A kernel that finds every ratio too small to be told from the rounding of its own arithmetic."""

    NAME = "unresolved"
    PAYS_FROM = 0
    MOST_PARTS = 1
    rows = ROWS_A_BLOCK

    def available(self):
        return True

    def kernel(self, terms):
        return self

    def judge(self, before, after, best):
        return Figures(RESOLVED / 2, 0, 1e-9)


def test_ratios_below_what_a_kernel_resolves_are_the_references():
    x = rows_of("plain", D, ROWS_A_BLOCK)
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(D))
    delta = x - x.mean(axis=1, keepdims=True, dtype=np.float64)
    after = delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5) * gain + bias
    setting = Setting("layer_norm", 1e-5, FLOAT32, FLOAT32)
    hypotheses = [Hypothesis(Variant("", gain, bias), None)]
    rows = ArrayRows(x, after)
    assert survey(
        rows, hypotheses, replace(setting, output=replace(FLOAT32, precision=53)), [0], fast=Unresolved()
    ) == (reference_survey(rows, hypotheses, replace(setting, output=replace(FLOAT32, precision=53))))


@pytest.mark.parametrize("out", [np.dtype(F32), BF16], ids=str)
def test_a_whole_comparison_says_what_it_said_without_a_kernel(out):
    n = fast_numpy.PAYS_FROM // (2 * out.itemsize * D) + 1
    x = rows_of("plain", D, n).astype(out)
    after = run(x, *gain_and_bias(D), out=out)
    large = compare(ArrayRows(x, after), parameters(), norm="ln_f", recording="r", provenance="p")
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(D))
    chain = CHAINS["once"] if out == BF16 else None
    setting = Setting("layer_norm", 1e-5, FLOAT32, BFLOAT16 if out == BF16 else FLOAT32)
    slow = reference_survey(ArrayRows(x, after), [Hypothesis(Variant("", gain, bias), chain)], setting).tallies[0]
    assert (large.status, large.finding, large.unjudged) == ("pass", "agrees", 0)
    assert large.max_error_ratio == pytest.approx(slow.max_ratio, rel=1e-6)
    assert large.max_abs_error == pytest.approx(slow.max_abs_error, rel=1e-6)
    assert large.outside_cells == (0 if out == BF16 else None)


def test_a_dtype_guessed_from_the_first_rows_is_corrected():
    n = fast_numpy.PAYS_FROM // (8 * D) + 1
    x = rows_of("plain", D, n)
    gain, bias = np.ones(D, F32), np.zeros(D, F32)
    x[: 2**15 // D] = 0  # the rows that the guess is made from: their output is 0 in every format
    found = compare(
        ArrayRows(x, run(x, gain, bias)),
        NormParameters("layer_norm", gain, bias, 1e-5),
        norm="ln_f",
        recording="r",
        provenance="p",
    )
    assert (found.status, found.output_dtype, found.output_dtype_source) == ("pass", "float32", "inferred")


def test_a_declared_dtype_that_the_recording_is_not_in_fails():
    n = fast_numpy.PAYS_FROM // (8 * D) + 1
    x = rows_of("plain", D, n)
    rows = ArrayRows(x, run(x, *gain_and_bias(D)))
    found = compare(rows, parameters(), norm="ln_f", recording="r", provenance="p", output_dtype=FLOAT16.name)
    assert (found.status, found.finding) == ("fail", "wrong-output-dtype")
