import pytest

from ln_audit.comparison import Explanation
from ln_audit.numerics.floats import BFLOAT16
from ln_audit.numerics.tally import Element, NonfiniteCount, Tally
from ln_audit.numerics.verdict import Evidence
from ln_audit.numerics.wording import Words

WORST = Element(5, 3, 1.5, 1.732, 2e-7, 1.7, 1.8, 1.16e6)
WORDS = Words(width=4, leading=(2, 3), output="bfloat16", chain="once")
WORST_SAID = "largest error ratio 1.16e+06 at [1, 2, 3]: expected 1.732 ± 2e-07, found 1.5"


def say(finding, words=WORDS, before=None, tally=None, **evidence):
    return words.say(finding, Evidence(tally or Tally(), before or NonfiniteCount(), **evidence))


def test_a_row_number_becomes_an_index_of_the_leading_axes():
    assert WORDS.index(4) == (1, 1)
    assert Words(4, (), "float32", None).index(0) == ()
    assert WORDS.positions == 6
    assert Words(4, (), "float32", None).positions == 1


def test_a_nonfinite_input_is_told_with_its_place():
    assert say("nonfinite-input", before=NonfiniteCount(nan=2, inf=1, first=9)) == (
        "before at [0, 2, 1]: expected a finite number, found 1 infinities and 2 NaN in all: "
        "the fault lies upstream of this norm"
    )


def test_nothing_judged_says_why():
    assert say("nothing-judged") == (
        "none of 6 positions can be judged: every row is ill-conditioned (its variance + epsilon is 0, or drowns in "
        "the rounding of its mean)"
    )


def test_a_nonfinite_output_is_told_with_what_was_expected():
    tally = Tally(judged=24, wrong=2, first_wrong=WORST._replace(recorded=float("nan")))
    assert say("nonfinite-output", tally=tally) == (
        "after at [1, 2, 3]: expected 1.732, found nan; 2 of 24 judged elements are NaN or infinite where the "
        "reference is not"
    )


def test_a_value_of_another_dtype_is_told_in_full():
    tally = Tally(judged=24, inexact=7, outside=7, first_inexact=WORST._replace(recorded=0.1))
    assert say("wrong-output-dtype", tally=tally) == (
        "after at [1, 2, 3]: expected a bfloat16 number, as declared, found 0.1; 7 of 24 judged elements are outside "
        "every cell"
    )


def test_agreement_tells_cells_the_worst_element_and_what_was_not_judged():
    tally = Tally(judged=20, worst=WORST._replace(ratio=0.5, recorded=1.7320001))
    assert say("agrees", tally=tally) == (
        "all 20 judged elements at 6 positions agree, none is outside its bfloat16 rounding cell (chain `once`); "
        "largest error ratio 0.5 at [1, 2, 3]: expected 1.732 ± 2e-07, found 1.7320001; 4 elements of ill-conditioned "
        "rows were not judged"
    )
    plain = Words(4, (2, 3), "float32", None)
    assert say("agrees", plain, tally=Tally(judged=24, worst=WORST)) == (
        f"all 24 judged elements at 6 positions agree; {WORST_SAID}"
    )
    assert say("agrees", plain, tally=Tally(judged=24)).endswith("no finite element was measured")


def test_off_reference_counts_elements_and_shows_the_worst():
    assert say("off-reference", tally=Tally(judged=24, over=9, worst=WORST)) == (
        f"9 of 24 judged elements are off the reference; {WORST_SAID}"
    )


def test_off_reference_by_cells_alone_shows_the_first_cell():
    tally = Tally(judged=24, outside=2, worst=WORST, first_outside=WORST)
    cells = (
        "2 of 24 judged elements lie outside their bfloat16 rounding cell (chain `once`), the first at [1, 2, 3]: "
        "expected 1.7 to 1.8, found 1.5"
    )
    assert say("off-reference", tally=tally) == f"{cells}; {WORST_SAID}"
    assert say("another-rounding-chain", tally=tally) == (
        f"{cells}: the run rounds in another order than any that is known"
    )


def test_another_known_chain_is_named():
    assert say("another-rounding-chain", tally=Tally(worst=WORST), other_chain="before_gain") == (
        f"the run rounds as `before_gain`, not as its family does; {WORST_SAID}"
    )


@pytest.mark.parametrize(("lanes", "order"), [(1, "one by one"), (8, "in 8 lanes")])
def test_a_summation_order_is_named(lanes, order):
    expected = f"a correct norm that sums {order} explains it; {WORST_SAID}"
    assert say("summation-order", tally=Tally(worst=WORST), lanes=lanes) == expected
    faults = (Explanation("another epsilon", 0.5, {}, ""), Explanation("ddof", 0.5, {}, ""))
    assert say("cannot-tell", tally=Tally(worst=WORST), lanes=lanes, explanations=faults) == (
        f"cannot tell from another epsilon, ddof: {expected}"
    )


def test_a_rounded_input_comes_with_the_advice():
    assert say("before-rounded", tally=Tally(judged=24, over=9, worst=WORST), before_rounded=BFLOAT16) == (
        "`before` looks rounded to bfloat16 after the norm had read it, which would explain it: 9 of 24 judged elements "
        f"are off the reference; {WORST_SAID}; if it was, say --before-rounded bfloat16"
    )


def test_what_is_unexplained_says_so():
    assert say("unexplained", tally=Tally(judged=24, over=9, worst=WORST)) == (
        "unexplained within the worst case of a sum of 4 terms: 9 of 24 judged elements are off the reference; "
        f"{WORST_SAID}"
    )
