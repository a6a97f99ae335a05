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


def narrow(count: int) -> np.ndarray:
    return (1 + np.arange(count) / 64).astype(np.float32)


def test_float32_values_that_are_all_exact_in_bfloat16_are_said_to_be_so():
    tensors = {"ln_f.weight": narrow(16), "ln_f.bias": np.zeros(16, np.float32)}
    (finding,) = stored_dtype.check(subject(tensors, norm()))
    assert (finding.status, finding.message) == (
        "pass", "F32, every value exact in bfloat16: trained in it, or cast to it on the way",
    )  # fmt: skip
    assert finding.evidence == {"confidence": "certain", "exact_in": "bfloat16"}


def test_one_finer_value_few_different_ones_or_values_that_were_not_read_say_nothing():
    finer = narrow(16)
    finer[3] = 1.001
    for gain in (finer, np.ones(16, np.float32)):
        assert found(stored_dtype, subject({"ln_f.weight": gain}, norm(bias=None))) == [("pass", "ln_f", "F32")]
    unread = subject({"ln_f.weight": narrow(16)}, norm(bias=None), read=False)
    assert found(stored_dtype, unread) == [("pass", "ln_f", "F32")]
    half = {"ln_f.weight": narrow(16).astype(np.float16)}
    assert found(stored_dtype, subject(half, norm(bias=None))) == [("pass", "ln_f", "F16")]
