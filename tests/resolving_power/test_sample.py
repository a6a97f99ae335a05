"""A bounded part of a recording: the rows of the smallest variance, and some from everywhere."""

import numpy as np
import pytest

from ln_audit.resolving_power.sample import FEWEST, KEPT, LOOKED_AT, MOST, PACKAGED, sample
from tests.numerics.runs import F32, ArrayRows


def rows(n, d, **changes):
    x = np.random.default_rng(n).standard_normal((n, d)).astype(F32)
    return ArrayRows(x, x + F32(1), **changes)


def test_a_short_recording_is_taken_whole_and_in_order():
    recorded = rows(12, 16)
    taken = sample(recorded, packaged=False)
    assert taken.whole
    assert np.array_equal(taken.before, recorded.before)
    assert np.array_equal(taken.after, recorded.after)
    assert (taken.positions, taken.recorded, taken.width, taken.leading) == (12, 12, 16, (12,))
    assert (taken.before_dtype, taken.after_dtype) == ("float32", "float32")
    assert taken.before.dtype == np.float64


@pytest.mark.parametrize(
    ("d", "packaged", "kept"),
    [
        (16, False, MOST),
        (2048, False, KEPT // 2048),
        (65536, False, FEWEST),
        (16, True, MOST),
        (768, True, PACKAGED // 768),
    ],
)
def test_as_many_rows_as_fit(d, packaged, kept):
    assert abs(sample(rows(80, d), packaged=packaged).positions - kept) <= kept // 4  # a row may be chosen twice over


def test_the_rows_of_the_smallest_variance_are_among_them_and_come_first():
    recorded = rows(500, 32)
    small = [499, 7, 250]
    recorded.before[small] *= np.array([[1e-3], [2e-3], [3e-3]], F32)
    taken = sample(recorded, packaged=False)
    assert np.array_equal(taken.before[:3], recorded.before[small].astype(np.float64))
    assert np.array_equal(taken.after[:3], recorded.after[small].astype(np.float64))
    assert any(np.array_equal(row, recorded.before[0]) for row in taken.before)
    assert not taken.whole


def test_what_may_be_larger_than_memory_is_not_walked_to_its_end():
    class Endless(ArrayRows):
        given = 0

        @property
        def positions(self):
            return 10**9

        def blocks(self, rows):
            while True:
                Endless.given += min(rows, len(self.before))
                yield self.before[:rows], self.after[:rows]

    width = 1024
    recorded = rows(64, width)
    taken = sample(Endless(recorded.before, recorded.after), packaged=False)
    assert (taken.recorded, taken.whole) == (10**9, False)
    assert LOOKED_AT // width <= Endless.given <= LOOKED_AT // width + 64


def test_the_screen_and_the_rest_are_all_rows_once_and_without_the_output():
    taken = sample(rows(12, 16), packaged=False)
    screen, rest = taken.batches()
    assert (screen.at.tolist(), screen.after, rest.after) == ([0, 11], None, None)
    assert sorted([*screen.at, *rest.at]) == list(range(12))
    assert np.array_equal(rest.before, taken.before[rest.at])
    (only,) = sample(rows(1, 16), packaged=False).batches()
    assert only.at.tolist() == [0]


def test_it_can_be_walked_like_any_rows():
    taken = sample(rows(12, 16), packaged=False)
    blocks = list(taken.blocks(5))
    assert [len(before) for before, _ in blocks] == [5, 5, 2]
    assert np.array_equal(np.concatenate([after for _, after in blocks]), taken.after)
