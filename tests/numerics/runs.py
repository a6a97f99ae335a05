"""Honest and faulty runs of a norm in NumPy, rows of every kind, and exact arithmetic to hold ours against."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from ln_audit.testing import ArrayRows as ArrayRows  # noqa: PLC0414 - for the tests that make their rows here

F32 = np.float32
BF16 = np.dtype(ml_dtypes.bfloat16)
F16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
KINDS_OF_ROWS = ("plain", "outliers", "mean of 100 sigma", "1e-3", "constant", "one-hot")


def rows_of(kind: str, d: int, n: int = 32) -> np.ndarray[Any, Any]:
    """n rows of width d in float32, the six columns of the table of implementations."""
    rng = np.random.default_rng(d)
    x = rng.standard_normal((n, d))
    if kind == "outliers":
        x[:, rng.choice(d, max(1, d // 256), replace=False)] *= 3000
    elif kind == "mean of 100 sigma":
        x += 100
    elif kind == "1e-3":
        x *= 1e-3
    elif kind == "constant":
        x = np.repeat(3 * rng.standard_normal((n, 1)), d, axis=1)
    elif kind == "one-hot":
        x = np.zeros((n, d))
        x[np.arange(n), rng.integers(0, d, n)] = rng.uniform(0.5, 5, n)
    return x.astype(F32)


def gain_and_bias(d: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A trained-looking gain and bias, [d] each, float32."""
    rng = np.random.default_rng(d + 1)
    return rng.uniform(0.5, 1.5, d).astype(F32), rng.standard_normal(d).astype(F32)


def pairwise(x):
    return x.sum(axis=-1, keepdims=True, dtype=x.dtype)


def one_by_one(x):
    return np.add.accumulate(x, axis=-1)[:, -1:]


def blocks_of_128(x):
    d = x.shape[1]
    parts = [np.add.accumulate(x[:, at : at + 128], axis=-1)[:, -1:] for at in range(0, d, 128)]
    return one_by_one(np.concatenate(parts, axis=1))


def backwards(x):
    return one_by_one(x[:, ::-1])


def run(
    x, gain, bias, eps=1e-5, *, kind="layer_norm", total=pairwise, out=FLOAT32, chain="once", ddof=0, one_pass=False
):
    """The norm in float32 as a run takes it: `total` sums, `out` is the output dtype."""
    with np.errstate(all="ignore"):
        row = x.astype(F32)
        d = F32(row.shape[1])
        mu = total(row) / d if kind == "layer_norm" else F32(0)
        delta = row - mu
        var = total(row * row) / d - mu * mu if one_pass else total(delta * delta) / (d - F32(ddof))
        z = delta * (F32(1) / np.sqrt(var + F32(eps)))
        if chain == "before_gain":
            z = z.astype(out).astype(F32)
        y = z if gain is None else z * gain.astype(F32)
        y = y if bias is None else y + bias.astype(F32)
        return y.astype(out)


def nearest(value: Fraction, precision: int, emin: int, emax: int) -> float:
    """Round to nearest, ties to even, in exact arithmetic."""
    if value == 0:
        return 0.0
    magnitude, exponent = abs(value), emin
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - precision + 1)
    rounded = round(magnitude / quantum) * quantum  # Python's round is to even
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** emax
    result = float("inf") if rounded > largest else float(rounded)
    return result if value > 0 else -result
