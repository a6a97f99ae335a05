"""Runs with a fault in them, each written out in NumPy as the people who made it did, not as we predict it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ln_audit.numerics.parameters import NormParameters
from tests.numerics.runs import BF16, F16, F32, FLOAT32, pairwise

OUTPUTS = {"float32": FLOAT32, "bfloat16": BF16, "float16": F16}


@dataclass(frozen=True)
class Norm:
    """A norm as it is stored, and the dtype and chain in which it runs."""

    kind: str
    gain: np.ndarray[Any, Any]
    bias: np.ndarray[Any, Any] | None
    eps: float = 1e-5
    offset: float = 0.0
    out: Any = FLOAT32

    @property
    def chain(self) -> str:
        return "once" if self.kind == "layer_norm" else "before_gain"

    def parameters(self) -> NormParameters:
        return NormParameters(self.kind, self.gain, self.bias, self.eps, self.offset, self.chain)


def deviation(x, eps):
    """1/σ of rows that are centred already."""
    return F32(1) / np.sqrt(pairwise(x * x) / F32(x.shape[1]) + F32(eps))


def centred(x, kind):
    return x - pairwise(x) / F32(x.shape[1]) if kind == "layer_norm" else x


def finish(z, norm, gain=None, bias=None):
    """Gain and bias on z, stored in the output dtype, by the norm's own chain."""
    gain = norm.gain + F32(norm.offset) if gain is None else gain
    bias = norm.bias if bias is None else bias
    if norm.chain == "before_gain":
        z = z.astype(norm.out).astype(F32)
    y = z * gain.astype(F32)
    return (y if bias is None else y + bias.astype(F32)).astype(norm.out)


def honest(x, norm):
    x = x.astype(F32)
    delta = centred(x, norm.kind)
    return finish(delta * deviation(delta, norm.eps), norm)


def with_reciprocal(reciprocal: Callable[[Any, Norm], Any]):
    """A fault in 1/σ."""

    def plant(x, norm):
        delta = centred(x.astype(F32), norm.kind)
        return finish(delta * reciprocal(delta, norm), norm)

    return plant


def changed(**what):
    """An honest run of a norm that was changed."""
    return lambda x, norm: honest(x, replace(norm, **what))


def mean_square(delta):
    return pairwise(delta * delta) / F32(delta.shape[1])


def unbiased(delta):
    return pairwise(delta * delta) / F32(delta.shape[1] - 1)


def one_pass(x, norm):
    x = x.astype(F32)
    d = F32(x.shape[1])
    mu = pairwise(x) / d
    with np.errstate(invalid="ignore"):
        r = F32(1) / np.sqrt(pairwise(x * x) / d - mu * mu + F32(norm.eps))
    return finish((x - mu) * r, norm)


def other_kind(x, norm):
    kind = "rms_norm" if norm.kind == "layer_norm" else "layer_norm"
    delta = centred(x.astype(F32), kind)
    return finish(delta * deviation(delta, norm.eps), norm)


def other_kind_without_bias(x, norm):
    return other_kind(x, replace(norm, bias=None))


def ones(norm):
    return np.ones_like(norm.gain)


def swapped(x, norm):
    return honest(x, replace(norm, gain=norm.bias, bias=norm.gain))


def twice(x, norm):
    return honest(honest(x, norm).astype(F32), norm)


def narrow_parameters(dtype):
    def plant(x, norm):
        bias = None if norm.bias is None else norm.bias.astype(dtype).astype(F32)
        return honest(x, replace(norm, gain=norm.gain.astype(dtype).astype(F32), bias=bias))

    return plant


def narrow_statistics(dtype, *, everything=False):
    """Mean and variance rounded to a narrow dtype; with `everything` each step of each element too."""

    def plant(x, norm):
        def narrow(values):
            return values.astype(dtype).astype(F32)

        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            x = narrow(x.astype(F32)) if everything else x.astype(F32)
            d = F32(x.shape[1])
            delta = x - narrow(pairwise(x) / d) if norm.kind == "layer_norm" else x
            delta = narrow(delta) if everything else delta
            square = narrow(delta * delta) if everything else delta * delta
            var = narrow(pairwise(square) / d)
            if not everything:
                return finish(delta * (F32(1) / np.sqrt(var + F32(norm.eps))), norm)
            r = narrow(F32(1) / np.sqrt(narrow(var + F32(norm.eps))))
            y = narrow(narrow(delta * r) * norm.gain)
            return (y if norm.bias is None else narrow(y + norm.bias)).astype(norm.out)

    return plant


def gathered(dtype):
    """The squares are added up one by one in a narrow dtype."""

    def plant(x, norm):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            x = x.astype(F32)
            delta = centred(x, norm.kind)
            square = np.add.accumulate((delta * delta).astype(dtype), axis=1)[:, -1:].astype(F32)
            var = (square / F32(x.shape[1])).astype(dtype).astype(F32)
            return finish(delta * (F32(1) / np.sqrt(var + F32(norm.eps))), norm)

    return plant


def overflowing(x, norm):
    delta = centred(x.astype(F32), norm.kind)
    with np.errstate(over="ignore"):
        lost = np.isinf((delta * delta).astype(F16)).any(axis=1, keepdims=True)
    return finish(np.where(lost, F32(0), delta * deviation(delta, norm.eps)), norm)


def over_positions(x, norm):
    x = x.astype(F32)
    mu = x.mean(axis=0, keepdims=True) if norm.kind == "layer_norm" else F32(0)
    delta = x - mu
    return finish(delta / np.sqrt((delta * delta).mean(axis=0, keepdims=True) + F32(norm.eps)), norm)


def over_everything(x, norm):
    x = x.astype(F32)
    delta = x - x.mean() if norm.kind == "layer_norm" else x
    return finish(delta / np.sqrt((delta * delta).mean() + F32(norm.eps)), norm)


def permuted_parameters(x, norm):
    return honest(x, replace(norm, gain=norm.gain[::-1], bias=None if norm.bias is None else norm.bias[::-1]))


def permuted_heads(x, norm):
    d = x.shape[1]
    return honest(x, norm).reshape(-1, 4, d // 4).swapaxes(1, 2).reshape(-1, d)


def touched(channels, factor):
    def plant(x, norm):
        gain = norm.gain.copy()
        gain[list(channels)] *= F32(factor)
        return honest(x, replace(norm, gain=gain))

    return plant
