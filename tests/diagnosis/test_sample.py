import numpy as np
import pytest

from ln_audit.diagnosis import sample
from ln_audit.diagnosis.sample import batches, evidence, part, take
from tests.diagnosis.suspects import honest, layer_norm, reference, suspect
from tests.numerics.runs import F32, rows_of

NORM = layer_norm(gain=None, bias=None)
X = rows_of("plain", 64, 3000)


def recorded(worst):
    after = reference(X, NORM)
    for rank, row in enumerate(worst):
        after[row, : 10 + rank] += F32(1)  # the later, the more elements are off
    return suspect(after, X, NORM)


def test_a_small_recording_is_looked_at_whole():
    of = suspect(reference(X[:20], NORM), X[:20], NORM)
    seen = evidence(of.rows, honest(of), of.setting)
    assert seen.whole
    assert seen.sample.at.tolist() == list(range(20))
    assert sorted([*seen.probe.at, *seen.others.at]) == list(range(20))


def test_the_worst_rows_are_in_the_sample_of_a_large_one(monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_ELEMENTS", 64 * 10)
    of = recorded((2345, 17, 1111))
    seen = evidence(of.rows, honest(of), of.setting)
    assert not seen.whole
    assert len(seen.sample.at) <= 10
    assert {2345, 17, 1111, 0, 2999} <= set(seen.sample.at.tolist())
    assert seen.probe.at.tolist() == [0, 17, 1111, 2999]
    assert np.array_equal(seen.sample.before, X[seen.sample.at].astype(np.float64))


def test_rows_are_taken_by_number_across_blocks():
    of = recorded(())
    taken = take(of.rows, np.array([0, 511, 512, 2999]))
    assert taken.after is not None
    assert np.array_equal(taken.before, X[[0, 511, 512, 2999]])
    assert np.array_equal(taken.after, of.rows.after[[0, 511, 512, 2999]])


def test_all_rows_come_in_order_and_once():
    numbers = [batch.at for batch in batches(recorded(()).rows)]
    assert len(numbers) > 1
    assert np.concatenate(numbers).tolist() == list(range(3000))


@pytest.mark.parametrize("kept", [[True, False, True], [False, False, False]])
def test_a_part_keeps_numbers_and_rows_together(kept):
    of = suspect(X[:3], X[:3], NORM)
    chosen = part(take(of.rows, np.arange(3)), np.array(kept))
    assert chosen.at.tolist() == np.flatnonzero(kept).tolist()
    assert np.array_equal(chosen.before, X[:3][kept])
