"""The formulas that a module is held against, and what follows once one fits: its epsilon, and where it rounds."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Measured:
    """What one module computes. `gain` and `bias` are the names of its parameters; `eps` None: none that can be told."""

    kind: str
    gain: str | None
    bias: str | None
    offset: float
    eps: float | None
    chain: str | None


@dataclass(frozen=True)
class Trial:
    """One way to feed a module: the rows, and the axis that is normalized.

    `gate` is its second input; `heads`: the module takes its width as heads times their width.
    """

    x: torch.Tensor
    axis: int
    gate: torch.Tensor | None = None
    heads: int | None = None


def run(module: torch.nn.Module, trial: Trial) -> torch.Tensor | None:
    """What the module makes of the rows, in their shape; None where it does not take them."""
    x = trial.x if trial.heads is None else trial.x.unflatten(-1, (trial.heads, -1))
    try:
        y = module(x) if trial.gate is None else module(x, trial.gate)
    except Exception:  # noqa: BLE001 - not a module that takes such rows
        return None
    if not isinstance(y, torch.Tensor):
        return None
    return y.flatten(-2) if trial.heads is not None and y.ndim > trial.x.ndim else y


def layer_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    d = x - x.mean(-1, keepdim=True)
    return d * (d.square().mean(-1, keepdim=True) + eps).rsqrt()


def _rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()


def _l2_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * (x.square().sum(-1, keepdim=True) + eps).rsqrt()


FORMULAS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "layer_norm": layer_norm,
    "rms_norm": _rms_norm,
    "l2_norm": _l2_norm,
}
_GATES: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (torch.nn.functional.silu, torch.sigmoid)


def forms(kind: str, trial: Trial, groups: int) -> Iterator[Callable[[torch.Tensor, float], torch.Tensor]]:
    """The normalized rows before gain and bias, for each way in which a gate may take part."""
    formula = FORMULAS[kind]

    def grouped(x: torch.Tensor, eps: float) -> torch.Tensor:
        return formula(x.unflatten(-1, (groups, -1)), eps).flatten(-2)

    if trial.gate is None:
        yield grouped
        return
    for gate in _GATES:
        factor = gate(trial.gate)
        yield lambda x, eps, factor=factor: grouped(x, eps) * factor
        yield lambda x, eps, factor=factor: grouped(x * factor, eps)


def attribute(module: torch.nn.Module, near: float | None) -> float | None:
    """The module's own spelling of an epsilon that was measured; without one to compare with, what it calls so."""
    floats = {key: value for key, value in vars(module).items() if isinstance(value, float)}
    if near is None:
        return next((value for key, value in floats.items() if "eps" in key), None)
    return next((value for value in floats.values() if value > 0 and abs(value - near) <= 0.05 * near), None)


def refined(module: torch.nn.Module, trial: Trial, found: Measured, form: Any) -> Measured:
    """Epsilon from tiny rows, the rounding chain from a bfloat16 run."""
    return replace(found, eps=_epsilon(module, trial, found, form), chain=_chain(module, trial, found, form))


def _effective(module: torch.nn.Module, found: Measured) -> tuple[torch.Tensor, torch.Tensor]:
    own = dict(module.named_parameters(recurse=False))
    g = own[found.gain].double() + found.offset if found.gain else torch.ones(()).double()
    return g, own[found.bias].double() if found.bias else torch.zeros(()).double()


def _epsilon(module: torch.nn.Module, trial: Trial, found: Measured, form: Any) -> float | None:
    """The epsilon that explains the rows of two small scales alike; torch's "none given" is no number of its own."""
    if any(key in ("eps", "epsilon", "variance_epsilon") and value is None for key, value in vars(module).items()):
        return None
    guess = 1e-5
    for _ in range(4):
        values = [_implied(module, trial, found, form, scale * math.sqrt(guess)) for scale in (0.5, 1.0)]
        if any(value is None for value in values):
            return None
        low, high = sorted(value for value in values if value is not None)
        if low <= 0:
            guess /= 100
            continue
        if high <= 1.05 * low and 0.2 < low / guess < 5:
            return attribute(module, low) or float(f"{low:.1e}")
        guess = low
    return None


def _implied(module: torch.nn.Module, trial: Trial, found: Measured, form: Any, scale: float) -> float | None:
    """Epsilon of rows of this scale, by bisection: the larger it is, the smaller the output."""
    small = replace(trial, x=trial.x * scale)
    y = run(module, small)
    if y is None:
        return None
    g, b = _effective(module, found)
    z = (y.movedim(trial.axis, -1).double() - b) / g
    size = z.abs().mean()
    low, high = -16.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if form(small.x.movedim(trial.axis, -1).double(), 10**middle).abs().mean() > size:
            low = middle
        else:
            high = middle
    return 10**low if low > -15.5 else -1.0


def _chain(module: torch.nn.Module, trial: Trial, found: Measured, form: Any) -> str | None:
    """Where a bfloat16 run rounds: once at its end, or before the gain as well, or in another way; None: not in one step."""
    if found.kind == "gated_rms_norm":
        return None
    if found.gain is None:
        return "once"
    half = copy.deepcopy(module).to(torch.bfloat16)
    x = torch.cat([trial.x] * 8).add(torch.randn((16, *trial.x.shape[1:]), generator=torch.Generator().manual_seed(3)))
    x = x.to(torch.bfloat16)
    y = run(half, replace(trial, x=x))
    if y is None or y.dtype != torch.bfloat16:
        return None
    own = dict(half.named_parameters(recurse=False))
    g = own[found.gain].double() + found.offset
    b = own[found.bias].double() if found.bias else torch.zeros(()).double()
    z = form(x.movedim(trial.axis, -1).double(), found.eps or 0.0)
    rounded = {
        (chain, narrow): _narrow(_narrow(z) * gain + b) if chain == "before_gain" else _narrow(z * gain + b)
        for chain in ("once", "before_gain")
        for narrow, gain in ((False, g), (True, _narrow(g)))
    }
    y = y.movedim(trial.axis, -1).double()
    off = {key: float((value != y).double().mean()) for key, value in rounded.items()}
    best = min(off, key=lambda key: off[key])
    return best[0] if off[best] < 0.02 else "other"


def _narrow(x: torch.Tensor) -> torch.Tensor:
    return x.float().to(torch.bfloat16).double()
