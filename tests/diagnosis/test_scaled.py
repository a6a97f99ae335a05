import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import scaled
from tests.diagnosis.suspects import BEFORE, batch, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32

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
