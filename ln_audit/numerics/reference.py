"""The norms themselves, in float64 and two passes. Everything else here is measured against these formulas.

LayerNorm: Ba, Kiros, Hinton 2016 (arXiv:1607.06450), as in openai/gpt-2 `src/model.py` `norm` and transformers' `ln_f`.
RMSNorm: Zhang, Sennrich 2019 (arXiv:1910.07467). The mean square is over d, not d − 1; epsilon stands inside the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ln_audit.numerics.floats import Array


class Normed(NamedTuple):
    """A normed block of rows with everything on the way: y = g·z + b, z = δ·r, δ = x − μ, r = 1/√(σ² + ε).

    `centred` tells LayerNorm from RMSNorm, where μ is 0 and σ² the mean square. Rows with σ² + ε = 0 have r = ∞.
    """

    y: Array  # [n, d]
    z: Array  # [n, d]
    delta: Array  # [n, d]
    mu: Array  # [n, 1]
    var: Array  # [n, 1]
    r: Array  # [n, 1]
    centred: bool


def layer_norm(x: Array, gain: Array | None, bias: Array | None, eps: float) -> Normed:
    """LayerNorm of each row of x [n, d] with gain [d] and bias [d]; absent, they are 1 and 0."""
    with np.errstate(all="ignore"):  # a row that overflows float64 or has r = ∞ is told from the others by its values
        mu = mean(x)  # [n, d] -> [n, 1]
        return _normed(x - mu, mu, gain, bias, eps, centred=True)


def rms_norm(x: Array, gain: Array | None, bias: Array | None, eps: float) -> Normed:
    """RMSNorm of each row of x [n, d] with gain [d] and bias [d]; absent, they are 1 and 0."""
    with np.errstate(all="ignore"):
        mu = np.zeros((len(x), 1))
        return _normed(x, mu, gain, bias, eps, centred=False)


def mean(x: Array) -> Array:
    """The mean of each row."""
    average: Array = np.mean(x, axis=-1, keepdims=True)  # [n, d] -> [n, 1]
    return average


def affine(z: Array, gain: Array | None, bias: Array | None) -> Array:
    """g·z + b."""
    y = z if gain is None else gain * z  # [d], [n, d] -> [n, d]
    return y if bias is None else y + bias  # [n, d], [d] -> [n, d]


def _normed(delta: Array, mu: Array, gain: Array | None, bias: Array | None, eps: float, *, centred: bool) -> Normed:
    var = mean(delta * delta)  # [n, d] -> [n, 1]
    r = 1.0 / np.sqrt(var + eps)  # [n, 1]
    z = delta * r  # [n, d], [n, 1] -> [n, d]
    return Normed(y=affine(z, gain, bias), z=z, delta=delta, mu=mu, var=var, r=r, centred=centred)


NORMS: dict[str, Callable[[Array, Array | None, Array | None, float], Normed]] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
}
