from dataclasses import replace

import pytest

from ln_audit.comparison import Explanation
from ln_audit.numerics.floats import BFLOAT16
from ln_audit.numerics.tally import NonfiniteCount, Tally
from ln_audit.numerics.verdict import Decision, Evidence, decide

FAULT = (Explanation("another epsilon", 0.5, {"eps": 1e-6}, "hand the epsilon on"),)
CLEAN = Evidence(Tally(judged=10), NonfiniteCount())
OVER = Evidence(Tally(judged=10, over=1), NonfiniteCount())
OUTSIDE = Evidence(Tally(judged=10, outside=1), NonfiniteCount())


def test_what_agrees_passes():
    assert decide(CLEAN) == Decision("pass", "agrees")


def test_nothing_judged_is_never_a_pass():
    assert decide(Evidence(Tally(), NonfiniteCount())) == Decision("skip", "nothing-judged")


@pytest.mark.parametrize("evidence", [OVER, OUTSIDE])
def test_before_anybody_looked_for_faults_every_disagreement_fails(evidence):
    assert decide(evidence) == Decision("fail", "off-reference")
    assert decide(replace(evidence, within_worst_case=True)) == Decision("fail", "off-reference")


@pytest.mark.parametrize("evidence", [OVER, OUTSIDE])
def test_a_summation_order_that_explains_is_a_warning(evidence):
    assert decide(replace(evidence, lanes=1, within_worst_case=True)) == Decision("warn", "summation-order")
    assert decide(replace(evidence, lanes=1, explanations=())) == Decision("warn", "summation-order")


def test_a_summation_order_and_a_fault_that_explain_cannot_be_told_apart():
    assert decide(replace(OVER, lanes=1, explanations=FAULT)) == Decision("warn", "cannot-tell")


@pytest.mark.parametrize("evidence", [OVER, OUTSIDE])
def test_a_fault_that_alone_explains_fails(evidence):
    found = replace(evidence, explanations=FAULT, before_rounded=BFLOAT16, within_worst_case=True)
    assert decide(found) == Decision("fail", "off-reference")


def test_another_known_chain_is_a_warning():
    assert decide(replace(CLEAN, other_chain="once")) == Decision("warn", "another-rounding-chain")


def test_an_undeclared_rounding_of_the_input_is_incomplete():
    assert decide(replace(OVER, before_rounded=BFLOAT16)) == Decision("skip", "before-rounded")


def test_cells_that_no_fault_explains_are_another_chain():
    assert decide(replace(OUTSIDE, explanations=())) == Decision("warn", "another-rounding-chain")


def test_what_no_fault_explains_within_the_worst_case_is_unexplained():
    assert decide(replace(OVER, explanations=(), within_worst_case=True)) == Decision("skip", "unexplained")
    assert decide(replace(OVER, explanations=())) == Decision("fail", "off-reference")


def test_a_nonfinite_input_comes_before_everything():
    evidence = Evidence(Tally(wrong=1, judged=0), NonfiniteCount(inf=1, first=7))
    assert decide(evidence) == Decision("fail", "nonfinite-input")
    assert decide(replace(CLEAN, before=NonfiniteCount(nan=1, first=0))) == Decision("fail", "nonfinite-input")


def test_a_nonfinite_output_fails_whatever_explains_the_rest():
    wrong = Evidence(Tally(judged=10, wrong=1), NonfiniteCount(), lanes=1, before_rounded=BFLOAT16, explanations=())
    assert decide(wrong) == Decision("fail", "nonfinite-output")


def test_a_value_that_the_declared_dtype_does_not_hold_fails():
    inexact = Evidence(Tally(judged=10, outside=1, inexact=1), NonfiniteCount(), lanes=1, explanations=())
    assert decide(inexact) == Decision("fail", "wrong-output-dtype")
