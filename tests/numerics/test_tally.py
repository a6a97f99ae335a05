import numpy as np

from ln_audit.numerics.judge import Judgement
from ln_audit.numerics.tally import Element, NonfiniteCount, Tally

NONE = np.zeros((2, 3), dtype=bool)


def block(ratio, *, recorded=None, outside=NONE, inexact=NONE, wrong=NONE, judged=None):
    ratio = np.array(ratio, dtype=float)
    y = np.full((2, 3), 10.0)
    recorded = y + np.nan_to_num(ratio) * 0.5 if recorded is None else np.array(recorded)
    judged = ~np.isnan(ratio) | wrong if judged is None else judged
    return Judgement(recorded, y, np.full((2, 3), 0.5), y - 1, y + 1, ratio, judged, outside, inexact, wrong)


def marked(row, channel):
    mask = NONE.copy()
    mask[row, channel] = True
    return mask


def test_an_empty_tally_is_within_but_not_clean():
    tally = Tally()
    assert (tally.clean, tally.within, tally.max_ratio, tally.worst) == (False, True, 0.0, None)


def test_one_judged_element_is_enough_to_be_clean():
    assert Tally(judged=1).clean


def test_blocks_add_up_and_the_first_worst_element_is_kept():
    tally = Tally()
    tally.add(block([[0.1, 0.9, 0.2], [0.3, 0.9, 0.0]]), 0)
    tally.add(block([[0.9, 0.1, 0.1], [0.2, 0.1, 0.1]]), 2)
    assert tally.judged == 12
    assert tally.worst == Element(0, 1, 10.45, 10.0, 0.5, 9.0, 11.0, 0.9)
    assert tally.max_abs_error == 0.4499999999999993
    assert tally.clean


def test_a_later_larger_ratio_takes_the_place():
    tally = Tally()
    tally.add(block([[0.1, 0.9, 0.2], [0.3, 0.4, 0.0]]), 0)
    tally.add(block([[0.1, 0.1, 0.1], [0.2, 0.1, 1.5]]), 2)
    assert tally.worst is not None
    assert (tally.worst.row, tally.worst.channel, tally.over) == (3, 2, 1)
    assert not tally.clean
    assert not tally.within


def test_a_ratio_of_exactly_1_still_agrees():
    tally = Tally()
    tally.add(block([[1.0, 0.9, 0.2], [0.3, 0.4, 0.0]]), 0)
    assert tally.over == 0
    assert tally.clean


def test_outside_inexact_and_wrong_are_counted_and_the_first_of_each_kept():
    for name in ("outside", "inexact", "wrong"):
        tally = Tally()
        tally.add(block([[0.1] * 3] * 2), 0)
        tally.add(block([[0.1] * 3] * 2, **{name: marked(1, 2)}), 2)
        tally.add(block([[0.1] * 3] * 2, **{name: marked(0, 0)}), 4)
        assert getattr(tally, name) == 2
        first = getattr(tally, f"first_{name}")
        assert (first.row, first.channel) == (3, 2)
        assert tally.clean is (name == "inexact")  # what is inexact is outside as well


def test_unjudged_elements_count_for_nothing():
    tally = Tally()
    tally.add(block([[np.nan] * 3] * 2), 0)
    assert tally == Tally()


def test_an_infinite_recorded_value_has_no_absolute_error():
    tally = Tally()
    tally.add(block([[0.0, np.nan, np.nan], [np.nan] * 3], recorded=[[np.inf] * 3] * 2), 0)
    assert (tally.judged, tally.max_abs_error, tally.max_ratio) == (1, None, 0.0)


def test_the_largest_absolute_error_may_lie_elsewhere_than_the_largest_ratio():
    tally = Tally()
    tally.add(block([[0.9, 0.1, 0.1], [0.1] * 3], recorded=[[10.1, 13.0, 10.0], [10.0] * 3]), 0)
    tally.add(block([[0.1] * 3] * 2, recorded=[[8.0, 10.0, 10.0], [10.0] * 3]), 2)
    assert (tally.max_abs_error, tally.max_ratio) == (3.0, 0.9)


def test_nonfinite_numbers_are_counted_by_kind_with_the_first():
    count = NonfiniteCount()
    count.add(np.zeros((2, 4)), 0)
    assert count == NonfiniteCount(0, 0, None)
    count.add(np.array([[0, 0, 0, 0], [0, np.nan, np.inf, 0]]), 2)
    count.add(np.array([[-np.inf, 0, 0, 0], [0, np.nan, 0, np.nan]]), 4)
    assert count == NonfiniteCount(nan=3, inf=2, first=13)


def test_the_worst_rows_are_that_of_the_largest_ratio_and_the_first_outside_its_cell():
    tally = Tally()
    assert tally.worst_rows == set()
    tally.add(block([[0.1, 0.2, 0.2], [0.3, 2.0, 0.0]]), 0)
    assert tally.worst_rows == {1}
    tally.add(block([[0.1, 0.9, 0.2], [0.3, 0.9, 0.0]], outside=marked(0, 2)), 2)
    assert tally.worst_rows == {1, 2}
