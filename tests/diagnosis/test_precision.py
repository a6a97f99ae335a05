import numpy as np
import pytest

from ln_audit.diagnosis import precision
from tests.diagnosis.suspects import BEFORE, batch, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F16, F32

FINE = layer_norm(gain=np.array([1.001, 2.003, 0.5007, 3.9991], F32))
DTYPES = {"bfloat16": BF16, "float16": F16}


def narrow(values, dtype):
    return values.astype(DTYPES[dtype]).astype(F32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parameters_that_were_cast_are_named(dtype):
    after = reference(BEFORE, layer_norm(gain=narrow(FINE.gain, dtype), bias=narrow(FINE.bias, dtype)))
    assert told(precision, suspect(after, parameters=FINE)) == [f"gain and bias rounded to {dtype}"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_input_that_was_cast_before_the_norm_read_it_is_named(dtype):
    x = BEFORE + F32(0.0003)
    of = suspect(reference(narrow(x, dtype), layer_norm()), x)
    assert told(precision, of) == [f"input rounded to {dtype} before the norm read it"]


def test_a_cast_after_the_offset_was_added_is_another_cast():
    norm = layer_norm(gain=np.array([0.001, 0.003, -0.0007, 0.0091], F32), weight_offset=1.0)
    assert norm.gain is not None
    whole = narrow(norm.gain + F32(1), "bfloat16")
    after = reference(BEFORE, layer_norm(gain=whole))
    expected = ["gain and bias rounded to bfloat16, after 1 was added"]
    assert told(precision, suspect(after, parameters=norm)) == expected


def test_what_is_exact_already_cannot_have_been_rounded():
    of = suspect(BEFORE, np.round(BEFORE * 4) / 4)
    assert list(precision.faults(of, batch(of))) == []
    assert precision.applies(of)


def test_parameters_in_the_output_dtype_are_honest():
    of = suspect(BEFORE.astype(BF16), parameters=FINE, out="bfloat16")
    assert not any(fault.name == "gain and bias rounded to bfloat16" for fault in precision.faults(of, batch(of)))
