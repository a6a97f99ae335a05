import math

import numpy as np

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


def test_a_single_nan_that_one_bit_makes_ordinary_again_is_said_to_be_that():
    gain = floats(1.5, 1.25, 0.5, 2.0)
    gain.view(np.uint32)[1] ^= np.uint32(1 << 30)
    (finding,) = not_finite.check(subject({"ln_f.weight": gain}, norm(bias=None)))
    assert finding.message.endswith("found 1 NaN, first at [1]")
    assert finding.reason == (
        "with exponent bit 7 turned back it is 1.25, an ordinary value here: a flipped bit? download or copy it again"
    )
    assert finding.evidence == {"confidence": "certain", "nan": 1, "infinite": 0, "first": 1}


def test_nothing_is_guessed_of_two_or_of_one_that_is_no_neighbour_of_an_ordinary_value():
    nan = float(np.array([0x7FC00000], np.uint32).view(np.float32)[0])  # with its bit turned back: 1.5
    for gain in (floats(nan, 1, nan, 2), floats(nan, 4, 5, 6), floats(nan)):
        (finding,) = not_finite.check(subject({"ln_f.weight": gain}, norm(bias=None)))
        assert finding.reason == ""
