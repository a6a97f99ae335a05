import numpy as np
import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import scaled
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32, rows_of

OUT = reference(BEFORE, layer_norm())


@pytest.mark.parametrize("factor", [2.0, 0.125, 1.37, 27.7128, -1.0])
def test_the_factor_is_told_with_as_few_digits_as_fit(factor):
    (found,) = explained(scaled, suspect(OUT * F32(factor)))
    advice = f"take the factor {factor:g} off the recorded output, or record before it is applied"
    assert found == Explanation(f"output scaled by {factor:g}", found.error_ratio, {"factor": factor}, advice)


def test_a_narrow_output_was_stored_before_it_was_scaled():
    after = (OUT.astype(BF16).astype(F32) * F32(1.37)).astype(BF16)
    assert told(scaled, suspect(after, out="bfloat16"))[0].startswith("output scaled by 1.")


def test_an_output_that_is_right_is_scaled_by_nothing():
    of = suspect(OUT)
    assert all(fault.parameters["factor"] not in (0.0, 1.0) for fault in scaled.faults(of, batch(of)))
    assert list(scaled.faults(of, batch(of, after=False))) == []
    assert scaled.applies(of)


@pytest.mark.parametrize("ulps", [1, 2])
def test_one_element_that_is_off_is_no_factor_of_the_others(ulps):
    x = rows_of("plain", 768, 16).astype(BF16)
    norm = layer_norm(gain=np.linspace(0.5, 2, 768).astype(F32), bias=None)
    after = reference(x, norm).astype(BF16)
    after.view(np.uint16)[7, 93] += ulps
    of = suspect(after, x, norm, out="bfloat16")
    found = diagnosed(of)
    assert found.explained_by == ()
    assert "scaled" not in found.message


@pytest.mark.parametrize(("rows", "tried"), [(8, False), (9, True)])
def test_a_factor_is_tried_where_most_rows_are_off_without_it(rows, tried):
    """Rows of 0 are the same with any factor: they count on neither side."""
    x = np.concatenate([rows_of("plain", 4, 16), np.zeros((40, 4), F32)])
    norm = layer_norm(bias=None)
    after = reference(x, norm)
    after[:rows] *= 2
    of = suspect(after, x, norm)
    assert bool(list(scaled.faults(of, batch(of)))) is tried
