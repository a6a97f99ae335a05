import numpy as np
import pytest

from ln_audit.diagnosis import low_precision
from tests.diagnosis import planted
from tests.diagnosis.suspects import BEFORE, batch, explained, suspect, told
from tests.numerics.runs import BF16, F16, F32, gain_and_bias, rows_of

GAIN, BIAS = gain_and_bias(32)
X = rows_of("outliers", 32, 8)
DTYPES = {"bfloat16": BF16, "float16": F16}


def norm(kind="layer_norm", out="float32"):
    return planted.Norm(kind, GAIN, BIAS if kind == "layer_norm" else None, out=planted.OUTPUTS[out])


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rounded_statistics_are_named(kind, dtype):
    after = planted.narrow_statistics(DTYPES[dtype])(X, norm(kind))
    (found, *_) = explained(low_precision, suspect(after, X, norm(kind).parameters()))
    assert (found.name, found.advice) == (
        f"statistics in {dtype}",
        "take mean and variance in float32 and cast the result back: x.float() before the norm",
    )


def test_a_whole_run_in_bfloat16_without_an_upcast_is_named():
    x = X.astype(BF16).astype(F32)
    after = planted.narrow_statistics(BF16, everything=True)(x, norm(out="bfloat16"))
    assert told(low_precision, suspect(after, x, norm().parameters(), out="bfloat16"))[0] == "statistics in bfloat16"


def test_a_sum_that_swallows_its_terms_is_named():
    x = np.full((2, 512), 11, F32)
    x[:, 0], x[:, 1::2] = 200, -11
    gain = np.ones(512, F32)
    after = planted.gathered(BF16)(x, planted.Norm("rms_norm", gain, None))
    of = suspect(after, x, planted.Norm("rms_norm", gain, None).parameters())
    assert told(low_precision, of) == ["statistics summed in bfloat16"]
    assert np.abs(after[0, 2] * 18.4 / 11) == pytest.approx(2.08, abs=0.05)  # the right norm of 11 is 11/14.2


def test_statistics_in_float32_are_not_blamed():
    assert told(low_precision, suspect(planted.honest(X, norm()) * F32(1.01), X, norm().parameters())) == []


def test_without_an_output_the_roundings_are_simulated():
    of = suspect(planted.narrow_statistics(BF16)(X, norm()), X, norm().parameters())
    bare = batch(of, after=False)
    fault = next(iter(low_precision.faults(of, bare)))
    assert fault.name == "statistics in bfloat16"
    assert fault.predict(bare).values == pytest.approx(of.rows.after, rel=0.02, abs=0.02)
    assert [each.name for each in low_precision.faults(of, bare)] == [
        "statistics in bfloat16",
        "statistics summed in bfloat16",
        "statistics in float16",
        "statistics summed in float16",
    ]


def test_it_applies_to_every_norm():
    assert low_precision.applies(suspect(BEFORE))
