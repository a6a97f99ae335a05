"""Which parameter is the locked one, and by which reading of a convention that nothing says."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.core import Stored
from ln_audit.demand import Demand
from ln_audit.lock.digests import digests
from ln_audit.lock.holding import Values, as_locked, decided, in_doubt, offsets, sameness, values
from ln_audit.lock.making import locked
from ln_audit.lock.schema import Parameter
from tests.checks.subject_builder import WHOLE, norm, subject
from tests.lock.models import BFLOAT16

GAIN = np.array([1.5, 1.1, 0.3, 2.7], np.float32)
KEY = ("decoder", "ln_f", 1)


def found(stored: np.ndarray, dtype: str, offset: float = 0.0, lacking: float = 0.0) -> Values:
    return Values("ln_f.weight", dtype, stored, offset, lacking)


@pytest.mark.parametrize(
    ("ours", "same"),
    [
        (found(GAIN, "F32"), "same"),
        (found(GAIN.astype(np.float64), "F64"), "same"),
        (found(GAIN.astype(BFLOAT16), "BF16"), "rounded"),
        (found(GAIN.astype(np.float16), "F16"), "rounded"),
        (found(GAIN.astype(BFLOAT16).astype(np.float32), "F32"), None),
        (found(GAIN.astype(BFLOAT16).astype(np.float16), "F16"), None),
        (found(GAIN - 1, "F32", 1.0, 1.0), "same"),
        (found(-GAIN, "F32"), None),
    ],
)
def test_the_same_values_or_those_rounded_to_the_dtype_that_stores_them(ours, same):
    exact = np.array([1.5, 1.25, 0.5, 2.75], np.float32)
    if ours.offset:  # float32 − 1 + 1 is exact for these only
        ours, locked_gain = found(exact - 1, "F32", 1.0, 1.0), exact
    else:
        locked_gain = GAIN
    assert sameness(Parameter(4, digests(locked_gain, 0.0)), ours) == same


def test_a_narrower_copy_of_gains_without_their_offset():
    stored = GAIN - 1
    of = Parameter(4, digests(stored, 1.0, 1.0))
    assert sameness(of, found(stored.astype(BFLOAT16), "BF16", 1.0, 1.0)) == "rounded"
    assert sameness(of, found((stored + np.float32(1)).astype(BFLOAT16), "BF16", 0.0, 1.0)) == "rounded"
    assert sameness(Parameter(4, digests(stored, 1.0)), found(stored.astype(BFLOAT16), "BF16", 1.0)) is None


def test_float64_that_float32_does_not_hold():
    wide = np.array([0.1, 0.2])
    of = Parameter(2, digests(wide, 0.0))
    assert sameness(of, found(wide, "F64")) == "same"
    assert sameness(of, found(wide.astype(np.float32), "F32")) == "rounded"
    assert found(wide, "F64").rounding is None


def test_what_was_not_read_or_is_quantized_has_no_values():
    made = subject(WHOLE, norm())
    whole = values(made, norm(), "gain", 0.0)
    assert whole is not None
    assert (whole.tensor, whole.dtype, whole.offset) == ("ln_f.weight", "F32", 0.0)
    bias = values(made, norm(), "bias", 1.0)
    assert bias is not None
    assert bias.offset == 0.0
    assert values(made, norm(bias=None), "bias", 0.0) is None
    assert values(subject(WHOLE, norm(), read=False), norm(), "gain", 0.0) is None
    quantized = Stored("F32", (4,), made.values["ln_f.weight"].data, exact=False)
    assert values(replace(made, values={"ln_f.weight": quantized}), norm(), "gain", 0.0) is None


def test_a_convention_that_is_written_is_not_in_doubt():
    made = subject(WHOLE, norm(weight_offset=1.0))
    lock = locked(made, "local", {})
    assert not in_doubt(made)
    assert offsets(made, lock) == {KEY: 1.0}
    assert as_locked(made, lock, {KEY: 1.0}) == {"ln_f"}
    assert as_locked(made, lock, {KEY: 0.0}) == set()
    assert decided(made) == set()
    assert decided(replace(made, demand=Demand(lock="l", locked=lock))) == {"ln_f"}


def test_one_that_nothing_says_is_read_as_more_norms_are_locked():
    made = subject(WHOLE, norm(weight_offset=1.0))
    (reading,) = made.readings
    view = replace(reading.spelling.view, offset_unknown=True)
    mlx = replace(made, readings=(replace(reading, spelling=replace(reading.spelling, view=view)),))
    stored_as_gain = locked(subject(WHOLE, norm()), "local", {})
    assert in_doubt(mlx)
    assert not in_doubt(replace(mlx, demand=Demand(offset=1.0)))
    assert offsets(mlx, stored_as_gain) == {KEY: 0.0}
    assert offsets(mlx, locked(made, "local", {})) == {KEY: 1.0}
    neither = replace(stored_as_gain, norms=(replace(stored_as_gain.norms[0], gain=Parameter(4)),))
    assert offsets(mlx, neither) == {KEY: 1.0}
