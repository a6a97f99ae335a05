"""One assert for people who write norms."""

import ml_dtypes
import numpy as np
import pytest

from ln_audit.errors import UsageError
from ln_audit.testing import ArrayRows, assert_norm, compare_arrays

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 5, 64)).astype(np.float32)
GAIN = (1 + 0.3 * RNG.standard_normal(64)).astype(np.float32)
BIAS = (0.2 * RNG.standard_normal(64)).astype(np.float32)


def layer_norm(x, gain=GAIN, bias=BIAS, eps=1e-5, ddof=0):
    centred = x - x.mean(-1, keepdims=True)
    return (centred / np.sqrt(centred.var(-1, ddof=ddof, keepdims=True) + x.dtype.type(eps)) * gain + bias).astype(
        x.dtype
    )


def test_a_right_kernel_passes_and_the_comparison_is_returned():
    found = assert_norm(X, layer_norm(X), GAIN, BIAS, kind="layer_norm", eps=1e-5)
    assert (found.status, found.elements, found.unjudged) == ("pass", 640, 0)


@pytest.mark.parametrize(
    ("after", "cause"),
    [
        (layer_norm(X, ddof=1), "d − 1"),
        (layer_norm(X, bias=0 * BIAS), "bias"),
        (layer_norm(X, eps=1e-2), "epsilon"),
        (X, "no norm"),
    ],
    ids=["ddof", "bias", "epsilon", "none"],
)
def test_a_wrong_kernel_fails_and_the_message_names_the_cause(after, cause):
    with pytest.raises(AssertionError, match=rf"(?s)layer_norm: .*{cause}"):
        assert_norm(X, after, GAIN, BIAS, kind="layer_norm", eps=1e-5)


def test_the_cause_is_named_once_and_its_way_out_stands_below():
    with pytest.raises(AssertionError) as raised:
        assert_norm(X, layer_norm(X, ddof=1), GAIN, BIAS, kind="layer_norm", eps=1e-5)
    first, second = str(raised.value).split("\n")
    assert first.startswith("layer_norm: variance over d − 1: ")
    assert second.startswith("  → divide by d = 64, not d − 1")
    assert str(raised.value).count("variance over d − 1") == 1


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("layernorm", "did you mean layer_norm?"),
        ("RMSNorm", "did you mean rms_norm?"),
        ("batch", "layer_norm subtracts the mean of a row, rms_norm does not"),
    ],
)
def test_a_mistyped_kind_has_a_hint(kind, hint):
    with pytest.raises(UsageError, match="kind: expected layer_norm or rms_norm, found") as raised:
        assert_norm(X, X, kind=kind, eps=1e-5)
    assert (raised.value.hint, raised.value.__notes__) == (hint, [f"→ {hint}"])


def test_what_judges_nothing_fails():
    same = np.zeros((3, 8), np.float32)
    with pytest.raises(AssertionError):
        assert_norm(same, same, kind="rms_norm", eps=0.0)


def test_the_axis_is_where_the_width_lies():
    moved, after = np.moveaxis(X, -1, 1), np.moveaxis(layer_norm(X), -1, 1)
    assert assert_norm(moved, after, GAIN, BIAS, kind="layer_norm", eps=1e-5, axis=1).status == "pass"
    with pytest.raises(AssertionError):
        assert_norm(moved[:, :5], after[:, :5], kind="layer_norm", eps=1e-5, axis=1)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float64])
def test_other_dtypes(dtype):
    x = X.astype(dtype)
    after = layer_norm(x.astype(np.float32 if dtype != np.float64 else np.float64), GAIN, BIAS).astype(dtype)
    assert assert_norm(x, after, GAIN, BIAS, kind="layer_norm", eps=1e-5).output_dtype == np.dtype(dtype).name


def test_the_offset_belongs_to_the_gain():
    after = (X / np.sqrt((X * X).mean(-1, keepdims=True) + np.float32(1e-6)) * (1 + (GAIN - 1))).astype(np.float32)
    assert assert_norm(X, after, GAIN - 1, kind="rms_norm", eps=1e-6, weight_offset=1).status == "pass"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "batch_norm"}, "kind: expected layer_norm or rms_norm, found 'batch_norm'"),
        ({"after": X[0]}, r"after: expected the shape of before, \[2, 5, 64\], found \[5, 64\]"),
        (
            {"before": X.astype(int), "after": X.astype(int)},
            "before: expected float64, float32, bfloat16 or float16, found int64",
        ),
        ({"axis": 1.0}, "axis: expected a whole number, found 1.0"),
        ({"axis": (1, 2)}, r"axis: expected a whole number, found \(1, 2\)"),
        ({"axis": 3}, r"axis: expected an axis of before, shape \[2, 5, 64\], found 3"),
        ({"eps": None}, "eps: expected a number, found None"),
        ({"eps": "1e-5"}, "eps: expected a number, found '1e-5'"),
        ({"weight_offset": [1, 2]}, "weight_offset: expected a number"),
        ({"before": X[:0], "after": X[:0]}, r"before: expected numbers, found none, shape \[0, 5, 64\]"),
        ({"before": X[..., :0], "after": X[..., :0]}, "before: expected numbers, found none"),
        ({"before": np.ma.masked_invalid(X)}, "before: expected a plain array, found a masked one"),
    ],
)
def test_arguments_that_fit_no_norm(arguments, message):
    given = {"before": X, "after": X, "kind": "layer_norm", "eps": 1e-5} | arguments
    with pytest.raises(UsageError, match=message):
        compare_arrays(given.pop("before"), given.pop("after"), **given)


def test_rows_come_in_blocks_of_any_rank():
    rows = ArrayRows(X, X)
    assert (rows.width, rows.positions, rows.leading, rows.before_dtype) == (64, 10, (2, 5), "float32")
    assert [block.shape for block, _ in rows.blocks(4)] == [(4, 64), (4, 64), (2, 64)]


def test_numbers_of_the_other_byte_order_are_the_same_numbers():
    assert assert_norm(X.astype(">f4"), layer_norm(X), GAIN, BIAS, kind="layer_norm", eps=1e-5).status == "pass"


def test_a_gain_of_zeros_would_fit_whatever_the_kernel_computes():
    after = np.broadcast_to(BIAS, X.shape).copy()
    with pytest.raises(AssertionError, match="nothing could be judged: every gain is 0: the output is the bias"):
        assert_norm(X, after, np.zeros_like(GAIN), BIAS, kind="layer_norm", eps=1e-5)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_rows_that_any_gain_would_fit_are_nothing_judged(value):
    x = np.full((4, 64), value, np.float32)
    with pytest.raises(AssertionError, match="nothing could be judged: every row is .*: the output is the bias"):
        assert_norm(x, np.broadcast_to(BIAS, x.shape), GAIN, BIAS, kind="layer_norm", eps=1e-5)


def test_constant_rows_of_an_rmsnorm_show_its_gain():
    x = np.full((4, 64), 3.0, np.float32)
    after = (x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * GAIN).astype(np.float32)
    assert assert_norm(x, after, GAIN, kind="rms_norm", eps=1e-5).status == "pass"
