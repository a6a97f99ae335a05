import numpy as np
import pytest

from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ln_audit.numerics.output_dtype import compute_format, narrowest
from tests.numerics.runs import BF16


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([1.0, 1 + 2.0**-7], BFLOAT16),
        ([1.0, 1 + 2.0**-10], FLOAT16),
        ([1 + 2.0**-10, 70000.0], FLOAT32),
        ([1 + 2.0**-23], FLOAT32),
        ([1 / 3], FLOAT64),
        ([np.inf, np.nan, -np.inf, 1.0], BFLOAT16),
        ([2.0**-133], BFLOAT16),
        ([2.0**-24], BFLOAT16),
    ],
)
def test_the_narrowest_format_that_holds_every_finite_value_is_found(values, form):
    assert narrowest([np.array([values])], "float64") is form


def test_every_block_counts():
    blocks = [np.array([[1.0]]), np.array([[1 + 2.0**-10]]), np.array([[1 + 2.0**-20]])]
    assert narrowest(blocks, "float64") is FLOAT32


def test_no_more_blocks_are_read_than_it_takes_to_know():
    def blocks():
        yield np.array([[1 / 3]], dtype=np.float32)
        raise AssertionError("read on although nothing narrower was left")

    assert narrowest(blocks(), "float32") is FLOAT32


def test_a_stored_dtype_is_never_widened():
    assert narrowest([np.array([[1 / 3]], dtype=BF16)], "bfloat16") is BFLOAT16
    assert narrowest([np.array([[1 / 3]], dtype=np.float16)], "float16") is FLOAT16


def test_statistics_are_expected_in_float32_but_for_float64_outputs():
    expected = {BFLOAT16: FLOAT32, FLOAT16: FLOAT32, FLOAT32: FLOAT32, FLOAT64: FLOAT64}
    assert {output: compute_format(output) for output in expected} == expected
