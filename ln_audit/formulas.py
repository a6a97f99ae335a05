"""`layer_norm` and `rms_norm` for callers: `numerics.reference` behind arguments that are held to what they have to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ln_audit import arguments
from ln_audit.errors import UsageError
from ln_audit.testing import array_of

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.reference import Normed


def layer_norm(x: Any, gain: Any, bias: Any, eps: float) -> Normed:
    """LayerNorm of each row of x [n, d] with gain [d] and bias [d], in float64; None, they are 1 and 0.

    NumPy arrays or torch tensors. Raises `UsageError` for arguments that fit no norm.
    """
    return _normed("layer_norm", x, gain, bias, eps)


def rms_norm(x: Any, gain: Any, bias: Any, eps: float) -> Normed:
    """RMSNorm of each row of x [n, d] with gain [d] and bias [d], in float64; None, they are 1 and 0.

    NumPy arrays or torch tensors. Raises `UsageError` for arguments that fit no norm.
    """
    return _normed("rms_norm", x, gain, bias, eps)


def _normed(kind: str, x: Any, gain: Any, bias: Any, eps: float) -> Normed:
    from ln_audit.numerics.reference import NORMS

    rows = _wide(x, "x")
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError(f"x: expected rows [n, d], found shape {list(rows.shape)}")
    gains, biases = (_vector(each, name, rows.shape[1]) for each, name in ((gain, "gain"), (bias, "bias")))
    return NORMS[kind](rows, gains, biases, arguments.epsilon("eps", eps))


def _vector(values: Any, name: str, width: int) -> Array | None:
    wide = None if values is None else _wide(values, name)
    if wide is not None and wide.shape != (width,):
        raise UsageError(f"{name}: expected shape [{width}], found {list(wide.shape)}")
    return wide


def _wide(values: Any, name: str) -> Array:
    from ln_audit.numerics.floats import float64

    return float64(array_of(values, name, integers=True))
