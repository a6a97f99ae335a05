"""One bit of one element."""

import numpy as np

from ln_audit.against.flipped_bit import explain
from tests.against.made import BF16, GAIN, difference, norm


def flipped(values: np.ndarray, bit: int, *channels: int) -> np.ndarray:
    made = values.copy()
    for channel in channels:
        made.view(np.dtype(f"u{values.dtype.itemsize}"))[channel] ^= 1 << bit
    return made


def test_the_bit_and_both_values_are_told():
    found = explain(difference(flipped(np.full(8, 1.5, np.float32), 29, 5), np.full(8, 1.5, np.float32)))
    assert found is not None
    assert found.text == "one bit of [5]: bit 29, 1.5 became 8.131516e-20"
    assert explain(difference(flipped(GAIN.astype(BF16), 0, 2), GAIN.astype(BF16))) is not None


def test_two_bits_two_channels_or_two_dtypes_are_another_matter():
    assert explain(difference(flipped(flipped(GAIN, 3, 1), 4, 1), GAIN)) is None
    assert explain(difference(flipped(GAIN, 3, 1, 2), GAIN)) is None
    assert explain(difference(GAIN.astype(BF16), GAIN)) is None


def test_one_bit_of_what_another_dtype_or_convention_stores_is_found():
    found = explain(difference(flipped(GAIN.astype(BF16), 7, 2), GAIN))
    assert found is not None
    assert found.text.startswith("one bit of [2]: bit 7, ")
    lacks = norm(weight_offset=1.0)
    assert explain(difference(flipped(GAIN, 23, 1), GAIN - np.float32(1), theirs=lacks)) is not None
