"""The two formulas and one token of eight features on its way through them: `ln-audit explain` without a rule.

Only the token, its gain and its bias are written down here. Every other number comes from `numerics.reference` at
call time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ln_audit.numerics.reference import Normed

EPSILON = 1e-5
TOKEN = (0.5, -1.25, 3.0, 0.75, -0.5, 8.0, 1.5, -2.0)  # one loud channel, as in trained models
GAIN = (1.5, 1.25, 0.75, 1.0, 1.25, 0.25, 1.0, 1.5)  # and a gain that has learned to hold it down
BIAS = (0.25, 0.0, -0.5, 0.125, 0.0, 1.0, -0.25, 0.5)

_FORMULAS = """\
For one token x of d features, with gain g, bias b and epsilon ε:
  LayerNorm   y = g·z + b,  z = (x − μ)/√(σ² + ε),  μ = mean(x),  σ² = mean((x − μ)²)   Ba, Kiros, Hinton 2016
  RMSNorm     the same with μ = 0:  z = x/√(mean(x²) + ε)                               Zhang, Sennrich 2019
The means are over d (not d − 1), and ε stands inside the root. No other token takes part."""


def text() -> str:
    """The formulas, then each step of LayerNorm and of RMSNorm on `TOKEN`."""
    import numpy as np

    from ln_audit.numerics.reference import layer_norm, rms_norm

    x, gain, bias = (np.array(values) for values in (TOKEN, GAIN, BIAS))  # [d] each
    layer, rms = (norm(x[None], gain, bias, EPSILON) for norm in (layer_norm, rms_norm))
    lines = [
        _FORMULAS,
        "",
        f"One token of {len(TOKEN)} features, ε = {EPSILON:g}:",
        _row("channel", [f"{channel:8d}" for channel in range(len(TOKEN))]),
        _numbers("x", x),
        _numbers("gain g", gain),
        _numbers("bias b", bias),
        "",
        *_layer_norm_steps(layer),
        "",
        *_rms_norm_steps(rms),
    ]
    return "\n".join(lines)


def _layer_norm_steps(normed: Normed) -> list[str]:
    """Centred, scaled, with gain and bias, and what centring and scaling promise of z."""
    mu, var, r = (value.item() for value in (normed.mu, normed.var, normed.r))
    return [
        f"LayerNorm: μ = {mu:.6f}, σ² = {var:.6f}, 1/√(σ² + ε) = {r:.6f}",
        _numbers("x − μ", normed.delta[0]),
        _numbers("z", normed.z[0]),
        _numbers("y = g·z + b", normed.y[0]),
        f"  mean of z {_plain(normed.z.mean(), 6)}, variance of z {_plain(normed.z.var(), 6)} = σ²/(σ² + ε)",
    ]


def _rms_norm_steps(normed: Normed) -> list[str]:
    """Scaled, with gain and bias, and what scaling promises of z; the mean stays in it."""
    square, r = normed.var.item(), normed.r.item()
    mean, mean_square = normed.z.mean(), (normed.z * normed.z).mean()
    return [
        f"RMSNorm: mean(x²) = {square:.6f}, 1/√(mean(x²) + ε) = {r:.6f}",
        _numbers("z", normed.z[0]),
        _numbers("y = g·z + b", normed.y[0]),
        f"  mean of z {_plain(mean, 6)}, mean square of z {_plain(mean_square, 6)} = mean(x²)/(mean(x²) + ε)",
    ]


def _numbers(label: str, values: np.ndarray[Any, Any]) -> str:
    return _row(label, [f"{_plain(value, 4):>8}" for value in values])


def _row(label: str, cells: list[str]) -> str:
    return f"  {label:<12}{' '.join(cells)}"


def _plain(value: float, digits: int) -> str:
    """Rounded, without the sign of a rounded zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"
