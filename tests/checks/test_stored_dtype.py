import numpy as np

from ln_audit.checks import stored_dtype
from tests.checks.subject_builder import WHOLE, found, norm, subject


def test_a_float_dtype_passes():
    assert found(stored_dtype, subject(WHOLE, norm())) == [("pass", "ln_f", "F32")]


def test_a_quantized_norm_fails():
    tensors = WHOLE | {"ln_f.weight": np.array([1, 2, 3, 4], np.int8)}
    assert found(stored_dtype, subject(tensors, norm())) == [
        ("fail", "ln_f", "model.safetensors: ln_f.weight: expected F32, BF16, F16 or F64, found I8")
    ]


def test_two_dtypes_in_one_norm_are_a_warning():
    tensors = WHOLE | {"ln_f.bias": WHOLE["ln_f.bias"].astype(np.float16)}
    assert found(stored_dtype, subject(tensors, norm())) == [
        ("warn", "ln_f", "model.safetensors: ln_f: expected one dtype, found ln_f.weight F32, ln_f.bias F16")
    ]


def test_a_norm_that_is_missing_has_no_dtype():
    assert found(stored_dtype, subject({}, norm())) == []
