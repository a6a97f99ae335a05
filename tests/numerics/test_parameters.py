import hashlib
import struct

import numpy as np
import pytest

from ln_audit.errors import FamilyError
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, FLOAT32
from ln_audit.numerics.parameters import (
    NormParameters,
    Variant,
    effective,
    nonfinite_parameter,
    value_sha256,
    variants,
)
from tests.numerics.runs import BF16, F32


def digest(*values):
    return hashlib.sha256(struct.pack(f"<{len(values)}f", *values)).hexdigest()


def test_the_offset_is_added_in_float32():
    stored = np.array([2.0**-25, 0.4], dtype=F32)
    result = effective(stored, 1.0)
    assert result.dtype == np.float32
    assert result.tolist() == [1.0, float(F32(0.4) + F32(1))]


def test_without_an_offset_minus_zero_stays_what_it_is():
    assert np.signbit(effective(np.array([-0.0], dtype=F32), 0.0)).tolist() == [True]
    assert value_sha256(np.array([-0.0], dtype=F32), 0.0) == hashlib.sha256(b"\0\0\0\x80").hexdigest()


def test_a_narrower_dtype_is_widened_before_the_offset_is_added():
    assert effective(np.array([0.0078125], dtype=BF16), 1.0).tolist() == [1.0078125]


def test_float64_keeps_what_float32_cannot_hold_and_has_no_digest_then():
    stored = np.array([1 / 3, 2.0])
    assert effective(stored, 1.0).tolist() == [1 / 3 + 1, 3.0]
    assert effective(stored, 0.0).tolist() == [1 / 3, 2.0]
    assert value_sha256(stored, 0.0) is None


@pytest.mark.parametrize("dtype", [np.float64, F32, np.float16, BF16, np.dtype(">f4")])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_digest_is_the_same_in_every_container(dtype, offset):
    values = [1.5, -0.25, 0.0, -3.0]
    assert value_sha256(np.array(values, dtype=dtype), offset) == digest(*(value + offset for value in values))


def test_every_nan_is_one_nan_to_the_digest():
    nans = np.array([0x7FC00000, 0xFFC00001, 0x7F800001], dtype=np.uint32).view(F32)
    assert value_sha256(nans, 0.0) == hashlib.sha256(b"\x00\x00\xc0\x7f" * 3).hexdigest()


def listed(values):
    return None if values is None else values.tolist()


def names(parameters, output):
    return [form.name for form in variants(parameters, output)]


def norm(gain, bias=None, offset=0.0):
    return NormParameters("layer_norm", gain, bias, 1e-5, offset)


def test_parameters_exact_in_the_output_dtype_have_one_form():
    assert names(norm(np.array([0.5, 2.0], dtype=F32)), BFLOAT16) == ["float32"]
    assert names(norm(np.array([0.3], dtype=F32)), FLOAT32) == ["float32"]


def test_a_cast_model_uses_gain_and_bias_rounded_to_the_output_dtype():
    gain, bias = np.array([0.3], dtype=F32), np.array([1.7], dtype=F32)
    stored, cast = variants(norm(gain, bias), BFLOAT16)
    assert (stored.name, listed(stored.gain), listed(stored.bias)) == ("float32", [float(gain[0])], [float(bias[0])])
    assert cast.name == "bfloat16"
    assert listed(cast.gain) == gain.astype(BF16).astype(float).tolist()
    assert listed(cast.bias) == bias.astype(BF16).astype(float).tolist()


def test_a_bias_alone_is_cast_too():
    form = variants(norm(None, np.array([1.7], dtype=F32)), FLOAT16)[1]
    assert (form.name, form.gain, listed(form.bias)) == ("float16", None, [float(np.float16(1.7))])


def test_an_offset_can_be_added_before_or_after_the_cast_or_in_the_narrow_dtype():
    gain = np.array([0.3001, 0.26171875 - 2.0**-12], dtype=F32)  # rounding it makes a tie of the sum
    narrow = gain.astype(BF16)
    forms = {form.name: listed(form.gain) for form in variants(norm(gain, offset=1.0), BFLOAT16)}
    assert forms == {
        "float32": (gain + F32(1)).astype(float).tolist(),
        "bfloat16": (narrow.astype(F32) + F32(1)).astype(float).tolist(),
        "bfloat16, offset added in it": (narrow + np.array(1, dtype=BF16)).astype(float).tolist(),
        "bfloat16, cast after the offset": (gain + F32(1)).astype(BF16).astype(float).tolist(),
    }


def test_a_cast_that_overflows_is_no_form():
    """Its channels would have no reference, so that nothing could be wrong with them."""
    assert names(norm(np.array([1e5, 0.3], dtype=F32)), FLOAT16) == ["float32"]
    assert names(norm(None, np.array([-1e5, 0.3], dtype=F32)), FLOAT16) == ["float32"]
    assert names(norm(np.array([np.nan, 0.3], dtype=F32)), FLOAT16) == ["float32"]


def test_a_norm_without_parameters_has_one_form_without_a_name():
    assert variants(norm(None), BFLOAT16) == (Variant(None, None, None),)


def test_the_first_parameter_that_is_no_number_is_named():
    assert nonfinite_parameter(Variant("float32", np.array([1.0, np.nan]), None)) == "gain[1] is nan"
    assert nonfinite_parameter(Variant("float32", np.array([1.0]), np.array([-np.inf]))) == "bias[0] is -inf"
    assert nonfinite_parameter(Variant("float32", np.array([1.0]), np.array([0.0]))) is None
    assert nonfinite_parameter(Variant(None, None, None)) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "l2_norm"}, "r: kind: expected layer_norm or rms_norm, found l2_norm: cannot tell"),
        ({"eps": -1.0}, "r: epsilon: expected a finite number not below 0, found -1.0"),
        ({"eps": float("nan")}, "r: epsilon: expected a finite number not below 0, found nan"),
        ({"eps": float("inf")}, "r: epsilon: expected a finite number not below 0, found inf"),
        ({"chain": "twice"}, "r: chain: expected once or before_gain, found twice"),
    ],
)
def test_what_cannot_be_worked_out_is_an_error_of_the_family(wrong, message):
    given = {"kind": "rms_norm", "gain": None, "bias": None, "eps": 1e-5, **wrong}
    with pytest.raises(FamilyError) as error:
        NormParameters(**given).check("r")
    assert error.value.message == message


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("chain", [None, "once", "before_gain"])
def test_an_epsilon_of_zero_and_every_known_chain_are_fine(eps, chain):
    NormParameters("rms_norm", None, None, eps, chain=chain).check("r")
