"""Equal is bit for bit, or after the rounding and the convention that the two files imply; a detour is named."""

import numpy as np
import pytest

from ln_audit.against.equality import detour, equality, truncated
from ln_audit.against.side import Parameter
from tests.against.made import BF16, DTYPES, GAIN


def stored(values: np.ndarray, offset: float = 0.0) -> Parameter:
    return Parameter("w", DTYPES[values.dtype], values, offset)


FINE = (GAIN * np.float32(1.0001)).astype(np.float32)  # not exact in a narrower dtype


@pytest.mark.parametrize(
    ("artifact", "source", "how"),
    [
        (stored(FINE), stored(FINE), "bit for bit"),
        (stored(FINE.astype(BF16)), stored(FINE), "rounded to BF16, to nearest"),
        (stored(FINE.astype(np.float16)), stored(FINE), "rounded to F16, to nearest"),
        (stored(FINE.astype(BF16).astype(np.float32)), stored(FINE.astype(BF16)), "the same values"),
        (stored(FINE), stored(FINE - np.float32(1), 1.0), None),
        (stored(GAIN), stored(GAIN - np.float32(1), 1.0), None),
        (stored(GAIN.astype(BF16).astype(np.float32)), stored((GAIN.astype(BF16).astype(np.float32) - 1), 1.0),
         "the source's +1, as the two conventions ask for"),
        (stored(FINE[:4]), stored(FINE), None),
        (stored(FINE.astype(BF16).astype(np.float32)), stored(FINE), None),
    ],
)  # fmt: skip
def test_what_counts_as_equal(artifact, source, how):
    if how is None and artifact.stored.size == source.stored.size and source.offset:
        expected = np.array_equal((source.stored.astype(np.float64) + 1).astype(np.float32), artifact.stored)
        assert (equality(artifact, source) is not None) == expected
    else:
        assert equality(artifact, source) == how


def test_a_convention_that_also_rounds_says_both():
    source = stored((FINE - np.float32(1)).astype(np.float32), 1.0)
    artifact = stored((source.stored + np.float32(1)).astype(np.float16))
    assert equality(artifact, source) == "the source's +1, as the two conventions ask for, rounded to F16"


def test_a_sign_of_zero_is_a_difference_and_a_nan_is_a_nan():
    zeros, signed = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert equality(stored(zeros), stored(signed)) is None
    nan = np.array([np.nan, 1], np.float32)
    assert equality(stored(nan), stored(-nan * -1)) == "bit for bit"


def test_a_truncated_bfloat16_and_a_narrower_dtype_on_the_way_are_told_apart():
    cut = truncated(FINE.astype(np.float64))
    assert (cut != FINE.astype(BF16).astype(np.float32)).any()
    found = detour(stored(cut.astype(BF16)), stored(FINE))
    assert found is not None
    assert (found.truncated, found.text) == (True, "cut off after BF16's bits instead of rounded to nearest")
    found = detour(stored(cut), stored(FINE))
    assert found is not None
    assert found.truncated
    found = detour(stored(FINE.astype(BF16).astype(np.float32)), stored(FINE))
    assert found is not None
    assert (found.truncated, found.text) == (False, "every value went through BF16 before it was stored as F32")
    assert detour(stored(GAIN * np.float32(1.5)), stored(FINE)) is None


def test_a_source_rounded_before_the_convention_is_told():
    source = stored((FINE - np.float32(1)).astype(np.float32), 1.0)
    through = source.stored.astype(BF16).astype(np.float32) + np.float32(1)
    found = detour(stored(through), source)
    assert found is not None
    assert found.text == "the source went through BF16 before it was stored as F32"


def test_what_a_container_of_whole_gains_rounded_away_is_no_difference():
    small = stored(GAIN * np.float32(1e-6) * np.float32(1.0001), 1.0)
    through = (small.stored + np.float32(1)) - np.float32(1)
    assert (through != small.stored).any()
    assert equality(stored(through, 1.0), small) == "the source's, stored as the whole gain less the model's 1"
    assert equality(stored(through * 2, 1.0), small) is None
    tiny = stored(GAIN * np.float32(1e-20), 1.0)
    assert equality(tiny, tiny) == "bit for bit"
    assert equality(stored(tiny.stored.astype(BF16), 1.0), tiny) == "rounded to BF16, to nearest"


def test_a_source_rounded_to_the_artifacts_own_dtype_before_the_convention_is_told():
    source = stored((FINE - np.float32(1)).astype(np.float32), 1.0)
    half = (source.stored.astype(np.float16) + np.float16(1)).astype(np.float16)
    found = detour(stored(half), source)
    assert found is not None
    assert found.text == "the source went through F16 before it was stored as F16"
