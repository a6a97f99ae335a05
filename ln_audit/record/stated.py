"""What a norm's module says of itself: gain, bias, epsilon, kind where torch defines it, and the digests of its values."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ln_audit.record.tensors import array, held, local, name_of

if TYPE_CHECKING:
    import numpy as np

GAINS = ("weight", "gain", "scale", "gamma", "g", "a_2")  # of torch, and of the norms that people write themselves
BIASES = ("bias", "beta", "b", "b_2")
_EPSILONS = ("eps", "variance_epsilon", "epsilon", "norm_eps", "layer_norm_eps", "rms_norm_eps", "_eps")


@dataclass(frozen=True, slots=True)
class Stated:
    """Gain and bias [d] as the norm uses them (offset added), None where it has none or they are not here to be read."""

    gain: np.ndarray[Any, Any] | None
    bias: np.ndarray[Any, Any] | None
    gain_digest: str | None
    bias_digest: str | None
    param_dtype: str | None


def parameter(module: Any, names: tuple[str, ...]) -> Any | None:
    """The module's own tensor of the first of these names."""
    import torch

    found = (getattr(module, name, None) for name in names)
    return next((each for each in found if isinstance(each, torch.Tensor)), None)


def stated(module: Any, width: int, offset: float) -> Stated:
    """The parameters of a module that norms rows of this width, as they are now."""
    from ln_audit.numerics.parameters import effective, value_sha256

    gain, bias = parameter(module, GAINS), parameter(module, BIASES)
    gains, biases = _values(gain, width), _values(bias, width)
    first = gain if gain is not None else bias
    return Stated(
        None if gains is None else effective(gains, offset),
        biases,
        None if gains is None else value_sha256(gains, offset),
        None if biases is None else value_sha256(biases, 0.0),
        None if first is None or not first.is_floating_point() else name_of(first.dtype),
    )


def gain_digest(module: Any, width: int | None) -> str | None:
    """The digest of a gain of this width as it is stored, without an offset; None where the module has none."""
    from ln_audit.numerics.parameters import value_sha256

    found = parameter(module, GAINS) if next(module.children(), None) is None else None
    values = None if found is None or width is None else _values(found, width)
    return None if values is None else value_sha256(values, 0.0)


def epsilon(module: Any) -> float | None:
    """The epsilon that the module carries, as it computes with it; None where no attribute says.

    torch's RMSNorm without one takes that of its input's dtype, which is its gain's. For 16 bits torch says that too, and
    computes with another one where it accumulates in float32: that is not known.
    """
    import torch

    if kind(module) == "rms_norm" and module.eps is None:
        dtype = None if module.weight is None else module.weight.dtype
        return torch.finfo(dtype).eps if dtype in (torch.float32, torch.float64) else None
    for name in _EPSILONS:
        value = getattr(module, name, None)
        try:
            number = None if value is None or isinstance(value, (bool, str)) else float(value)
        except (TypeError, ValueError, RuntimeError):  # a callable; a tensor of several numbers
            continue
        if number is not None and isfinite(number):
            return number
    return None


def epsilon_in_code(module: Any) -> bool:
    """Whether there is none to set: a class of transformers itself, whose code its family knows, without such an attribute."""
    ours = type(module).__module__.startswith("transformers.models.")
    return ours and not any("eps" in name.lower() for name in vars(module))


def kind(module: Any) -> str | None:
    """The kind where torch itself computes it. A class name proves nothing: T5LayerNorm is an RMSNorm."""
    import torch

    for cls, name in ((torch.nn.LayerNorm, "layer_norm"), (torch.nn.RMSNorm, "rms_norm")):
        if isinstance(module, cls) and type(module).forward is cls.forward:
            return name
    return None


def looks_like_a_norm(module: Any) -> bool:
    """By its class name, and without modules inside: good enough to offer it to the caller, not to judge it."""
    name = type(module).__name__.lower()
    return "norm" in name and "weightnorm" not in name and next(module.children(), None) is None


def _values(tensor: Any | None, width: int) -> np.ndarray[Any, Any] | None:
    """[d] in its own dtype; None for what is quantized, elsewhere, or no gain of this width."""
    if tensor is None or not tensor.is_floating_point() or tensor.itemsize == 1 or not held(tensor):
        return None
    here = local(tensor)
    return array(here).reshape(-1) if here.numel() == width else None
