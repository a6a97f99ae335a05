"""Rows that a test gathers: what fits together, what is written, and when nothing was proven."""

import ml_dtypes
import numpy as np
import pytest

from ln_audit.errors import UsageError
from ln_audit.norm_recording import NormRecording
from ln_audit.recording import open_recording


def of(path, said=()):
    return NormRecording(path / "r.safetensors", lambda target, **options: (target, options))  # type: ignore[arg-type]


def test_rows_of_any_shape_become_one_list_in_the_order_they_came(tmp_path):
    recording = of(tmp_path)
    rows = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    recording.add(rows, rows + 1)
    recording.add(rows[0, 0], rows[0, 1])
    rows[:] = 0  # they were copied
    written = open_recording(str(recording.write())).rows("")
    before, after = next(iter(written.blocks(99)))
    assert (before.tolist()[5:], after.tolist()[5:]) == (
        [[20, 21, 22, 23], [0, 1, 2, 3]],
        [[21, 22, 23, 24], [4, 5, 6, 7]],
    )
    assert recording.positions == 7


def test_half_precision_stays_what_it_is(tmp_path):
    recording = of(tmp_path)
    recording.add(np.ones((2, 4), ml_dtypes.bfloat16), np.ones((2, 4), np.float32))
    written = open_recording(str(recording.write())).rows("")
    assert (written.before_dtype, written.after_dtype) == ("bfloat16", "float32")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (np.ones((2, 4), np.float32), np.ones((2, 3), np.float32), r"after: expected the shape of before, \[2, 4\]"),
        (np.float32(1), np.float32(1), "expected the shape of before"),
        (
            np.ones((2, 5), np.float32),
            np.ones((2, 5), np.float32),
            "before: expected float32, 4 wide as before, found float32, 5 wide",
        ),
        (
            np.ones((2, 4), np.float32),
            np.ones((2, 4)),
            "after: expected float32, 4 wide as before, found float64, 4 wide",
        ),
        (np.ones((2, 4), int), np.ones((2, 4), int), "before: expected float64, float32"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, before, after, message):
    recording = of(tmp_path)
    recording.add(np.ones((1, 4), np.float32), np.ones((1, 4), np.float32))
    with pytest.raises(UsageError, match=message):
        recording.add(before, after)
    assert recording.positions == 1


def test_it_complains_until_every_row_was_judged(tmp_path):
    recording = of(tmp_path)
    assert recording.complaint().endswith("found none: nothing was checked")
    with pytest.raises(UsageError, match="expected rows, found none"):
        recording.write()
    recording.add(np.ones((3, 4), np.float32), np.ones((3, 4), np.float32))
    assert recording.complaint().endswith("found 3 rows that nothing was held to")
    assert recording.verify("model", norm="ln_f") == ("model", {"recording": recording.path, "norm": "ln_f"})
    assert recording.complaint() == ""
