"""What a module computes, told by running it on numbers: the kind of norm, "+1", bias, epsilon and where it rounds.

Nothing is told by a class's name. A module that fits no formula of this file is no norm.
"""

from __future__ import annotations

import copy
import inspect
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from .formulas import FORMULAS, Measured, Trial, attribute, forms, layer_norm, refined, run

if TYPE_CHECKING:
    from collections.abc import Iterator

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


_MEASURED: dict[tuple[Any, ...], Measured | None] = {}


def measured(module: torch.nn.Module) -> Measured | None:
    """As `measure`, once for modules that compute the same."""
    key = fingerprint(module)
    if key not in _MEASURED:
        _MEASURED[key] = measure(module)
    return _MEASURED[key]


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
        y = run(own, trial)
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


def _trials(module: torch.nn.Module) -> Iterator[Trial]:
    generator = torch.Generator().manual_seed(7)
    shape = next((tuple(p.shape) for _, p in module.named_parameters(recurse=False)), _stated_width(module))
    width = shape[-1]

    def rows(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, generator=generator) * 2 + 0.7

    last = rows(2, 5, *shape) if len(shape) == 2 else rows(2, 5, width)
    if _second_input(module):
        yield Trial(rows(2, 5, width), -1, rows(2, 5, width))
        yield Trial(rows(10, width), -1, rows(10, width))
        return
    yield Trial(last, -1)
    if len(shape) == 1:
        yield Trial(rows(2, width, 3, 4), 1)
        yield Trial(rows(2, width, 6), 1)
        heads = getattr(module, "num_heads", None)
        if isinstance(heads, int) and heads > 1 and width % heads == 0:
            yield Trial(rows(2, 5, width), -1, heads=heads)
    if len(shape) == 2:
        yield Trial(rows(2, *shape, 6).movedim(-1, 1), -1)
        yield Trial(rows(2, 3, math.prod(shape)), -1)


def _stated_width(module: torch.nn.Module) -> tuple[int, ...]:
    """The width that a module without parameters wants, where it says so."""
    stated = getattr(module, "normalized_shape", None)
    return tuple(stated) if isinstance(stated, (tuple, list)) else (_WIDTH,)


def _second_input(module: torch.nn.Module) -> bool:
    names = [p.name for p in inspect.signature(module.forward).parameters.values()]
    return len(names) > 1 and names[1] in ("gate", "z", "g")


def _fit(module: torch.nn.Module, trial: Trial, y: torch.Tensor, gain: str | None, bias: str | None) -> Measured | None:
    own = dict(module.named_parameters(recurse=False))
    x, y = trial.x.movedim(trial.axis, -1), y.movedim(trial.axis, -1)
    g = own[gain].double() if gain else torch.ones(())
    b = own[bias].double() if bias else torch.zeros(())
    width = x.shape[-1]
    most = width if trial.gate is not None or (trial.axis == -1 and gain) else 1
    for groups in [n for n in range(1, most + 1) if width % n == 0 and width // n > 1]:
        for kind in FORMULAS:
            for form in forms(kind, trial, groups):
                for offset in (0.0, 1.0) if gain else (0.0,):
                    try:
                        guess = form(x.double(), 0.0) * (g + offset) + b
                    except RuntimeError:  # shapes that do not go together
                        continue
                    if guess.shape == y.shape and _close(guess, y):
                        named = "group_norm" if groups > 1 else kind  # a mean per group of the last axis
                        if trial.gate is not None and kind == "rms_norm":
                            named = "gated_rms_norm"
                        found = Measured(named, gain, bias, offset, None, None)
                        return refined(module, trial, found, form)
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
        z = layer_norm(first, 0.0).reshape(x.movedim(-1, 1).shape).movedim(1, -1)
        if _close(z * g + b, y):
            return replace(found, eps=attribute(module, None))
    return None


def _batch_norm(module: torch.nn.Module) -> Measured | None:
    """Normalized by running statistics."""
    own, held = dict(module.named_parameters(recurse=False)), dict(module.named_buffers(recurse=False))
    mean, var = held[_BATCH], held["running_var"].abs() + 0.5
    held["running_var"].data.copy_(var)
    gain, bias = own.get("weight", held.get("weight")), own.get("bias", held.get("bias"))
    for sizes in ((mean.numel(), 3, 4), (mean.numel(), 6), (mean.numel(),), (mean.numel(), 2, 3, 4)):
        x = torch.randn(2, *sizes, generator=torch.Generator().manual_seed(7))
        y = run(module, Trial(x, 1))
        if y is None or y.shape != x.shape:
            continue
        z = (x.movedim(1, -1) - mean) / var.sqrt()
        if _close(z * (1 if gain is None else gain) + (0 if bias is None else bias), y.movedim(1, -1)):
            names = ("weight" if gain is not None else None, "bias" if bias is not None else None)
            return Measured("batch_norm", *names, 0.0, attribute(module, None), None)
    return None
