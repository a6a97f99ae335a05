import math

from ln_audit.checks import not_finite
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject


def test_finite_values_pass():
    assert found(not_finite, subject(WHOLE, norm())) == [("pass", "ln_f", "all values finite")]


def test_nan_and_infinity_fail_with_count_and_first_index():
    tensors = {"ln_f.weight": floats(1, math.nan, math.inf, 2), "ln_f.bias": floats(0, 0, 0, -math.inf)}
    assert found(not_finite, subject(tensors, norm())) == [
        (
            "fail",
            "ln_f",
            "model.safetensors: ln_f.weight: expected finite values, found 1 NaN and 1 infinite, first at [1]",
        ),
        ("fail", "ln_f", "model.safetensors: ln_f.bias: expected finite values, found 1 infinite, first at [3]"),
    ]


def test_a_final_norm_that_was_not_read_is_a_required_skip_and_a_block_is_a_note():
    tensors = WHOLE | {"h.0.ln_1.weight": floats(1, 2, 3, 4)}
    block = norm("h.0.ln_1", role="block", layer=0)
    said = [(f.subject, f.required) for f in not_finite.check(subject(tensors, block, norm(), read=False))]
    assert said == [("ln_f", True), ("1 norms", False)]
