"""What a digest tells of why values are not the locked ones."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.lock.digests import digests
from ln_audit.lock.explaining import explained, holders
from ln_audit.lock.holding import Values
from ln_audit.lock.schema import Lock, LockedNorm, Parameter
from tests.lock.models import BFLOAT16

GAIN = np.array([1.5, 1.1, 0.3, 2.75], np.float32)
OTHER = np.array([0.9, 1.2, 0.7, 2.0], np.float32)
WHOLE = np.array([1.5, 1.25, 0.5, 2.75], np.float32)  # exact with 1 added or taken away


def norm(name: str, gain: np.ndarray) -> LockedNorm:
    return LockedNorm(name, "block", "rms_norm", "decoder", gain=Parameter(gain.size, digests(gain, 0.0)))


def told(locked: np.ndarray, ours: np.ndarray, dtype: str = "F32", others: tuple[LockedNorm, ...] = (), role="gain"):
    of = norm("a", locked)
    assert of.gain is not None
    known = holders(Lock((of, *(replace(each, bias=each.gain) for each in others)), "m", "gguf"))
    return explained(known, of, role, of.gain, Values("a.weight", dtype, ours, 0.0, 0.0))


@pytest.mark.parametrize(
    ("locked", "ours", "said"),
    [
        (GAIN, GAIN[:2], "a part of it, or another model"),
        (
            GAIN,
            GAIN.astype(BFLOAT16).astype(np.float32),
            "its values went through bfloat16 before they were stored as F32",
        ),
        (
            GAIN,
            GAIN.astype(np.float16).astype(np.float32),
            "its values went through float16 before they were stored as F32",
        ),
        (GAIN.astype(BFLOAT16), GAIN, "the lock is of values rounded to bfloat16, these are not: lock the wider ones"),
        (WHOLE, WHOLE - 1, "every gain is the locked one -1: the converter mistook the family's convention"),
        (WHOLE, WHOLE + 1, "every gain is the locked one +1: the converter mistook the family's convention"),
        (GAIN, np.ones(4, np.float32), "at its initial values, as a loader leaves what it did not find"),
        (GAIN, -GAIN, "it differs: another model or revision, or values that were changed"),
    ],
)
def test_the_first_cause_that_fits_every_element_is_told(locked, ours, said):
    assert told(locked, ours) == said


def test_a_bias_has_no_convention_and_starts_at_zero():
    assert told(WHOLE, WHOLE + 1, role="bias").startswith("it differs")
    assert told(WHOLE, np.zeros(4, np.float32), role="bias").startswith("at its initial values")


def test_the_values_of_one_other_norm_are_named_whatever_dtype_stores_them():
    swapped = "these are the values of b: two norms changed places, or one was copied over the other"
    assert told(GAIN, OTHER, others=(norm("b", OTHER),)) == swapped
    assert told(GAIN, OTHER.astype(BFLOAT16), "BF16", (norm("b", OTHER),)) == swapped
    assert told(GAIN, OTHER, others=(norm("b", OTHER), norm("c", OTHER))).startswith("it differs")
