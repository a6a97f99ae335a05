import itertools

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording import arrays
from ln_audit.recording.arrays import ArrayFile, by_range, fortran_by_range, in_pieces
from ln_audit.recording.dtypes import Element
from tests.recording.containers import states, whole

F32 = Element("float32", 4)


class Bytes:
    """Bytes with a few in front, which notes every read."""

    def __init__(self, array, order="C"):
        self.data = b"front" + array.tobytes(order=order)
        self.reads = []

    def __call__(self, begin, end):
        self.reads.append(end - begin)
        assert 5 <= begin <= end <= len(self.data)
        return self.data[begin:end]


@pytest.mark.parametrize("shape", [(7,), (5, 7), (2, 5, 7), (1, 1, 7), (2, 1, 3, 7)])
@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_c_order_comes_back_in_blocks_of_whole_rows(shape, rows):
    array, read = states(shape), None
    read = Bytes(array)
    found = by_range("a", shape, F32, read, 5)
    assert (found.shape, found.dtype, found.width, found.positions) == (shape, "float32", 7, array.size // 7)
    blocks = list(found.blocks(rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert np.array_equal(np.concatenate(blocks).reshape(shape), array)
    assert max(read.reads) <= rows * 7 * 4
    assert np.array_equal(whole(found), array)


@pytest.mark.parametrize(
    "shape", [(7,), (5, 7), (2, 5, 7), (3, 2, 5, 7), (1, 5, 7), (5, 1, 7), (2, 1, 3, 1, 2, 7), (1, 7)]
)
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize(("in_memory", "run"), [(2**23, 2**20), (0, 2**20), (7 * 4 * 2, 2**20), (0, 8), (0, 64)])
def test_fortran_order_comes_back_row_by_row(shape, rows, in_memory, run, monkeypatch):
    monkeypatch.setattr(arrays, "IN_MEMORY", in_memory)
    monkeypatch.setattr(arrays, "LONGEST_RUN", run)
    array = states(shape)
    blocks = list(fortran_by_range("a", shape, F32, Bytes(array, "F"), 5).blocks(rows))
    assert np.array_equal(np.concatenate(blocks).reshape(shape), array)
    assert all(len(block) <= rows and block.flags.c_contiguous for block in blocks)


def test_a_large_fortran_array_is_gathered_with_one_read_a_channel(monkeypatch):
    monkeypatch.setattr(arrays, "IN_MEMORY", 64 * 7 * 4)
    array = states((128, 7))
    read = Bytes(array, "F")
    assert np.array_equal(whole(fortran_by_range("a", array.shape, F32, read, 5), 16), array)
    assert read.reads == [64 * 4] * (2 * 7)


def test_a_slab_never_exceeds_what_may_be_held(monkeypatch):
    monkeypatch.setattr(arrays, "IN_MEMORY", 4 * 7 * 4)
    monkeypatch.setattr(arrays, "LONGEST_RUN", 3 * 10 * 4)
    array = states((10, 20, 7))
    read = Bytes(array, "F")
    assert np.array_equal(whole(fortran_by_range("a", array.shape, F32, read, 5), 16), array)
    assert max(read.reads) == (10 * 2 + 1) * 4


@pytest.mark.parametrize("layout", [by_range, fortran_by_range])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((), "a: shape: expected [..., d], found a single number"),
        ((0,), "a: expected at least one position and one channel, found shape [0]"),
        ((0, 7), "a: expected at least one position and one channel, found shape [0, 7]"),
        ((7, 0), "a: expected at least one position and one channel, found shape [7, 0]"),
        ((2, 2**20 + 1), "a: shape: expected at most 1,048,576 channels, found [2, 1048577]"),
        ((1,) * 33, "a: shape: expected at most 32 axes, found 33"),
    ],
)
def test_an_array_without_rows_to_look_at_is_refused(layout, shape, message):
    with pytest.raises(RecordingError) as error:
        layout("a", shape, F32, lambda _begin, _end: b"", 0)
    assert error.value.message == message


def test_the_widest_row_and_most_axes_are_fine():
    assert by_range("a", (2**20,), F32, lambda *_: b"", 0).width == 2**20
    assert by_range("a", (1,) * 32, F32, lambda *_: b"", 0).positions == 1


def test_a_small_array_is_read_whole_and_a_large_one_refused():
    gain = states((48,))
    assert np.array_equal(by_range("a", (48,), F32, Bytes(gain), 5).small(), gain)
    with pytest.raises(RecordingError) as error:
        by_range("a", (5, 2**20), F32, lambda *_: b"", 0).small()
    assert error.value.message == "a: expected at most 4,194,304 elements, found [5, 1048576]"


def test_a_block_has_at_least_one_row():
    array = states((3, 2))
    assert [block.shape for block in by_range("a", (3, 2), F32, Bytes(array), 5).blocks(0)] == [(1, 2)] * 3


def test_blocks_can_be_walked_side_by_side():
    array = states((6, 2))
    found = by_range("a", (6, 2), F32, Bytes(array), 5)
    for one, other in itertools.pairwise([*found.blocks(2), *found.blocks(2)]):
        assert one.shape == other.shape == (2, 2)
    assert all(np.array_equal(a, b) for a, b in zip(found.blocks(4), found.blocks(4), strict=True))


def test_pieces_are_contiguous_copies_of_the_rows():
    rows = states((7, 5)).T
    pieces = list(in_pieces(rows, 2))
    assert [len(piece) for piece in pieces] == [2, 2, 1]
    assert np.array_equal(np.concatenate(pieces), rows)
    assert all(piece.flags.c_contiguous for piece in pieces)


def test_an_array_says_what_it_is_before_anything_is_read():
    unread = ArrayFile("a", (2, 3, 4), Element("bfloat16", 2), lambda _: iter(()))
    assert (unread.width, unread.positions, unread.dtype) == (4, 6, "bfloat16")
