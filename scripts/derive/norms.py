"""What a module computes, told by running it on numbers: the kind of norm, "+1", bias, epsilon and where it rounds.

Nothing is told by a class's name. A module that fits no formula of this file is no norm.
"""

from __future__ import annotations

import copy
import inspect
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WIDTH = 24  # of rows for modules without parameters
_FITS = 2e-3  # relative; rows of unit scale, so that no epsilon in use matters
_NO_NORMS = (
    torch.nn.Linear,
    torch.nn.Embedding,
    torch.nn.modules.conv._ConvNd,  # noqa: SLF001
    torch.nn.ModuleList,
    torch.nn.Sequential,
    torch.nn.Identity,
    torch.nn.Dropout,
)
_BATCH = "running_mean"


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
class _Trial:
    """One way to feed a module: the rows, and the axis that is normalized; `gate` is its second input."""

    x: torch.Tensor
    axis: int
    gate: torch.Tensor | None = None


def candidates(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Modules that may be norms: leaves with at most a gain and a bias, or without parameters."""
    for path, module in model.named_modules():
        if isinstance(module, _NO_NORMS) or not path:
            continue
        if any(True for child in module.children() for _ in child.parameters()):
            continue
        own = dict(module.named_parameters(recurse=False))
        if len(own) <= 2 and all(p.ndim <= 2 and p.numel() > 0 for p in own.values()):
            yield path, module


def fingerprint(module: torch.nn.Module) -> tuple[Any, ...]:
    """Equal for modules that compute the same: the class, its parameters' shapes and its plain attributes."""
    plain = {
        key: value
        for key, value in vars(module).items()
        if not key.startswith("_") and isinstance(value, (int, float, str, bool, tuple, type(None)))
    }
    plain.pop("layer_idx", None)
    shapes = tuple((key, tuple(p.shape)) for key, p in module.named_parameters(recurse=False))
    return (type(module), shapes, tuple(sorted(plain.items(), key=str)))


@torch.no_grad()
def measure(module: torch.nn.Module) -> Measured | None:
    """What the module computes; None when it is no norm. The module itself is not changed."""
    try:
        own = copy.deepcopy(module).float().eval()
    except Exception:  # noqa: BLE001 - what cannot be copied holds more than a norm does
        return None
    for parameter in own.parameters():
        parameter.data.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(len(parameter.shape)))
    own_names = [name for name, _ in own.named_parameters(recurse=False)]
    if _BATCH in dict(own.named_buffers(recurse=False)):
        return _batch_norm(own)
    for trial in _trials(own):
        y = _run(own, trial)
        if y is None or y.shape != trial.x.shape or not torch.isfinite(y).all() or torch.equal(y, trial.x):
            continue
        for gain, bias in _leaves(own_names):
            found = _fit(own, trial, y, gain, bias)
            if found is not None:
                return found
    return None


def _leaves(names: list[str]) -> list[tuple[str | None, str | None]]:
    match names:
        case []:
            return [(None, None)]
        case [one]:
            return [(one, None)]
        case [one, other]:
            return [(one, other), (other, one)]
    return []


def _trials(module: torch.nn.Module) -> Iterator[_Trial]:
    generator = torch.Generator().manual_seed(7)
    shape = next((tuple(p.shape) for _, p in module.named_parameters(recurse=False)), _stated_width(module))
    width = shape[-1]

    def rows(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, generator=generator) * 2 + 0.7

    last = rows(2, 5, *shape) if len(shape) == 2 else rows(2, 5, width)
    if _second_input(module):
        yield _Trial(rows(2, 5, width), -1, rows(2, 5, width))
        yield _Trial(rows(10, width), -1, rows(10, width))
        return
    yield _Trial(last, -1)
    if len(shape) == 1:
        yield _Trial(rows(2, width, 3, 4), 1)
        yield _Trial(rows(2, width, 6), 1)
    if len(shape) == 2:
        yield _Trial(rows(2, *shape, 6).movedim(-1, 1), -1)
        yield _Trial(rows(2, 3, math.prod(shape)), -1)


def _stated_width(module: torch.nn.Module) -> tuple[int, ...]:
    """The width that a module without parameters wants, where it says so."""
    stated = getattr(module, "normalized_shape", None)
    return tuple(stated) if isinstance(stated, (tuple, list)) else (_WIDTH,)


def _second_input(module: torch.nn.Module) -> bool:
    names = [p.name for p in inspect.signature(module.forward).parameters.values()]
    return len(names) > 1 and names[1] in ("gate", "z", "g")


def _run(module: torch.nn.Module, trial: _Trial) -> torch.Tensor | None:
    try:
        y = module(trial.x) if trial.gate is None else module(trial.x, trial.gate)
    except Exception:  # noqa: BLE001 - not a module that takes such rows
        return None
    return y if isinstance(y, torch.Tensor) else None


Formula = "Callable[[torch.Tensor, float], torch.Tensor]"


def _layer_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    d = x - x.mean(-1, keepdim=True)
    return d * (d.square().mean(-1, keepdim=True) + eps).rsqrt()


def _rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()


def _l2_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * (x.square().sum(-1, keepdim=True) + eps).rsqrt()


FORMULAS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "l2_norm": _l2_norm,
}
_GATES: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (torch.nn.functional.silu, torch.sigmoid)


def _forms(kind: str, trial: _Trial, groups: int) -> Iterator[Callable[[torch.Tensor, float], torch.Tensor]]:
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


def _fit(
    module: torch.nn.Module, trial: _Trial, y: torch.Tensor, gain: str | None, bias: str | None
) -> Measured | None:
    own = dict(module.named_parameters(recurse=False))
    x, y = trial.x.movedim(trial.axis, -1), y.movedim(trial.axis, -1)
    g = own[gain].double() if gain else torch.ones(())
    b = own[bias].double() if bias else torch.zeros(())
    width = x.shape[-1]
    most = width if trial.gate is not None else 1
    for groups in [n for n in range(1, most + 1) if width % n == 0 and width // n > 1]:
        for kind in FORMULAS:
            for form in _forms(kind, trial, groups):
                for offset in (0.0, 1.0) if gain else (0.0,):
                    try:
                        guess = form(x.double(), 0.0) * (g + offset) + b
                    except RuntimeError:  # shapes that do not go together
                        continue
                    if guess.shape == y.shape and _close(guess, y):
                        named = "gated_rms_norm" if trial.gate is not None and kind == "rms_norm" else kind
                        found = Measured(named, gain, bias, offset, None, None)
                        return _refined(module, trial, found, form)
    if trial.axis == 1 and trial.gate is None:
        return _group_norm(module, x, y, Measured("group_norm", gain, bias, 0.0, None, None))
    return None


def _close(guess: torch.Tensor, y: torch.Tensor) -> bool:
    return bool((guess - y).abs().max() <= _FITS * y.abs().max())


def _group_norm(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, found: Measured) -> Measured | None:
    """Normalized over groups of channels and all positions: torch's GroupNorm."""
    own = dict(module.named_parameters(recurse=False))
    g = own[found.gain].double() if found.gain else torch.ones(())
    b = own[found.bias].double() if found.bias else torch.zeros(())
    channels = x.shape[-1]
    for groups in [n for n in range(1, channels + 1) if channels % n == 0]:
        first = x.double().movedim(-1, 1).reshape(x.shape[0], groups, -1)
        z = _layer_norm(first, 0.0).reshape(x.movedim(-1, 1).shape).movedim(1, -1)
        if _close(z * g + b, y):
            return replace(found, eps=_attribute(module, None))
    return None


def _batch_norm(module: torch.nn.Module) -> Measured | None:
    """Normalized by running statistics."""
    own, held = dict(module.named_parameters(recurse=False)), dict(module.named_buffers(recurse=False))
    mean, var = held[_BATCH], held["running_var"].abs() + 0.5
    held["running_var"].data.copy_(var)
    gain, bias = own.get("weight", held.get("weight")), own.get("bias", held.get("bias"))
    for sizes in ((2, mean.numel(), 3, 4), (2, mean.numel(), 6), (2, mean.numel())):
        x = torch.randn(*sizes, generator=torch.Generator().manual_seed(7))
        y = _run(module, _Trial(x, 1))
        if y is None or y.shape != x.shape:
            continue
        z = (x.movedim(1, -1) - mean) / var.sqrt()
        if _close(z * (1 if gain is None else gain) + (0 if bias is None else bias), y.movedim(1, -1)):
            names = ("weight" if gain is not None else None, "bias" if bias is not None else None)
            return Measured("batch_norm", *names, 0.0, _attribute(module, None), None)
    return None


def _attribute(module: torch.nn.Module, near: float | None) -> float | None:
    """The module's own spelling of an epsilon that was measured; without one to compare with, what it calls so."""
    floats = {key: value for key, value in vars(module).items() if isinstance(value, float)}
    if near is None:
        return next((value for key, value in floats.items() if "eps" in key), None)
    return next((value for value in floats.values() if value > 0 and abs(value - near) <= 0.05 * near), None)


def _refined(module: torch.nn.Module, trial: _Trial, found: Measured, form: Any) -> Measured:
    """Epsilon from tiny rows, the rounding chain from a bfloat16 run."""
    return replace(found, eps=_epsilon(module, trial, found, form), chain=_chain(module, trial, found, form))


def _effective(module: torch.nn.Module, found: Measured) -> tuple[torch.Tensor, torch.Tensor]:
    own = dict(module.named_parameters(recurse=False))
    g = own[found.gain].double() + found.offset if found.gain else torch.ones(()).double()
    return g, own[found.bias].double() if found.bias else torch.zeros(()).double()


def _epsilon(module: torch.nn.Module, trial: _Trial, found: Measured, form: Any) -> float | None:
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
            return _attribute(module, low) or float(f"{low:.1e}")
        guess = low
    return None


def _implied(module: torch.nn.Module, trial: _Trial, found: Measured, form: Any, scale: float) -> float | None:
    """Epsilon of rows of this scale, by bisection: the larger it is, the smaller the output."""
    small = _Trial(trial.x * scale, trial.axis, trial.gate)
    y = _run(module, small)
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


def _chain(module: torch.nn.Module, trial: _Trial, found: Measured, form: Any) -> str | None:
    """Where a bfloat16 run rounds: once at its end, or before the gain as well; None where it is neither."""
    if found.kind == "gated_rms_norm":
        return None
    if found.gain is None:
        return "once"
    half = copy.deepcopy(module).to(torch.bfloat16)
    x = torch.cat([trial.x] * 8).add(torch.randn((16, *trial.x.shape[1:]), generator=torch.Generator().manual_seed(3)))
    x = x.to(torch.bfloat16)
    y = _run(half, _Trial(x, trial.axis))
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
    return best[0] if off[best] < 0.02 else None


def _narrow(x: torch.Tensor) -> torch.Tensor:
    return x.float().to(torch.bfloat16).double()


def offset_of(module: torch.nn.Module) -> float:
    """1.0 where the module computes with 1 + weight."""
    found = measure(module)
    return 0.0 if found is None else found.offset
