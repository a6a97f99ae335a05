import os

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording import open_pair, open_recording
from tests.recording.containers import bfloat16, states, write_safetensors

D = 256
ROWS = 1024  # of a block: 1 MB


def npy(tmp_path, name, array):
    np.save(tmp_path / name, array)
    return str(tmp_path / name)


def lent(rows, at_most, parts=1):
    """Copies of the lent blocks: each is valid only until the next is asked for."""
    blocks, at = [], 0
    for first_row, walk in rows.lent_parts(at_most, parts):
        assert first_row == at
        blocks += [(before.copy(), after.copy()) for before, after in walk]
        at = sum(len(before) for before, _ in blocks)
    assert all(0 < len(before) <= at_most for before, _ in blocks)
    return tuple(np.concatenate(side).reshape(*rows.leading, rows.width) for side in zip(*blocks, strict=True))


@pytest.mark.parametrize("dtypes", [("<f4", "<f4"), ("<f8", "<f4"), ("<f2", "<f8"), (">f4", "<f2")])
@pytest.mark.parametrize("at_most", [1, 7, 10**6])
@pytest.mark.parametrize("parts", [1, 2, 4, 100])
def test_npy_files_are_lent_as_they_are(tmp_path, dtypes, at_most, parts):
    before, after = (states((3, 5, 64), np.dtype(dtype), seed) for seed, dtype in enumerate(dtypes))
    rows = open_pair(npy(tmp_path, "b.npy", before), npy(tmp_path, "a.npy", after)).rows("")
    found = lent(rows, at_most, parts)
    assert np.array_equal(found[0], before)
    assert np.array_equal(found[1], after)


def test_safetensors_files_are_lent_as_they_are(tmp_path):
    before, after = bfloat16(states((9, 64))), bfloat16(states((9, 64), seed=1))
    rows = open_recording(write_safetensors(tmp_path / "r.safetensors", {"before": before, "after": after})).rows("")
    found = lent(rows, 4)
    assert found[0].dtype == before.dtype
    assert np.array_equal(found[0].view(np.uint16), before.view(np.uint16))
    assert np.array_equal(found[1].view(np.uint16), after.view(np.uint16))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_members_and_arrays_in_fortran_order_are_lent_too(tmp_path, save):
    before, after = states((3, 5, 64)), states((3, 5, 64), seed=1)
    save(tmp_path / "r.npz", before=before)
    rows = open_pair(f"{tmp_path}/r.npz:before", npy(tmp_path, "a.npy", np.asfortranarray(after))).rows("")
    assert len(rows.lent_parts(4, 3)) == 1
    found = lent(rows, 4, parts=3)
    assert np.array_equal(found[0], before)
    assert np.array_equal(found[1], after)


def test_a_recording_of_many_blocks_is_lent_in_order_from_one_buffer_a_side(tmp_path):
    before = np.arange(7 * ROWS * D + 3 * D, dtype=np.float32).reshape(-1, D)
    rows = open_pair(npy(tmp_path, "b.npy", before), npy(tmp_path, "a.npy", -before)).rows("")
    [(at, walk)] = rows.lent_parts(ROWS, 1)
    seen = set()
    for one, other in walk:
        assert np.array_equal(one, before[at : at + len(one)])
        assert np.array_equal(other, -before[at : at + len(one)])
        assert one.ctypes.data % 64 == other.ctypes.data % 64 == 0
        seen |= {one.ctypes.data, other.ctypes.data}
        at += len(one)
    assert at == len(before)
    assert len(seen) == 2


def test_it_may_be_walked_any_number_of_times_and_left_at_any_time(tmp_path):
    before = np.arange(4 * ROWS * D, dtype=np.float32).reshape(-1, D)
    rows = open_pair(npy(tmp_path, "b.npy", before), npy(tmp_path, "a.npy", before)).rows("")
    for _ in range(3):
        (_, walk), *_ = rows.lent_parts(10, 2)
        assert np.array_equal(next(walk)[0], before[:10])
    assert np.array_equal(lent(rows, 1000)[0], before)


@pytest.mark.parametrize("change", ["cut", "touched"])
def test_a_file_that_changes_while_it_is_lent_is_refused(tmp_path, change):
    before = np.zeros((8 * ROWS, D), np.float32)
    rows = open_pair(npy(tmp_path, "b.npy", before), npy(tmp_path, "a.npy", before)).rows("")
    [(_, walk)] = rows.lent_parts(ROWS, 1)
    next(walk)
    if change == "cut":
        os.truncate(tmp_path / "b.npy", 1000)
    else:
        os.utime(tmp_path / "b.npy", ns=(1, 1))
    with pytest.raises(RecordingError, match="cut while being read|found the file changed"):
        list(walk)


def test_where_an_array_lies_it_can_be_read_into_a_buffer_of_ones_own(tmp_path):
    before = states((9, 64))
    path = npy(tmp_path, "b.npy", before)
    lying = open_pair(path, path).rows("").before.lying
    assert lying is not None
    with lying.kept_open() as fill:
        buffer = memoryview(bytearray(256))
        fill(lying.begin, buffer)
    assert np.array_equal(np.frombuffer(buffer, np.float32), before[0])
