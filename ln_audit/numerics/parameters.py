"""What a norm is made of: gain, bias, epsilon; the effective values, their digest, and the forms that a run uses."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.errors import FamilyError
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import FLOAT32, Array, Format, float64
from ln_audit.numerics.reference import NORMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANONICAL_NAN = np.uint32(0x7FC00000)


@dataclass(frozen=True, slots=True)
class NormParameters:
    """One norm as it is stored. `gain` and `bias` [d] keep their stored dtype (bfloat16 by ml_dtypes), None if absent.

    `weight_offset` is what the model adds to the stored gain; `chain` names where the run rounds, None when unknown.
    """

    kind: str
    gain: NDArray[Any] | None
    bias: NDArray[Any] | None
    eps: float
    weight_offset: float = 0.0
    chain: str | None = None

    def check(self, subject: str) -> None:
        """Raises `FamilyError` where the numbers cannot be worked out; `subject` opens the message."""
        if self.kind not in NORMS:
            raise FamilyError(f"{subject}: kind: expected {' or '.join(NORMS)}, found {self.kind}: cannot tell")
        if not (isfinite(self.eps) and self.eps >= 0):
            raise FamilyError(f"{subject}: epsilon: expected a finite number not below 0, found {self.eps!r}")
        if self.chain is not None and self.chain not in CHAINS:
            raise FamilyError(f"{subject}: chain: expected {' or '.join(CHAINS)}, found {self.chain}")


@dataclass(frozen=True, slots=True)
class Variant:
    """Gain and bias [d] in float64 as an honest run may have used them; `name` is the dtype they had there."""

    name: str | None
    gain: Array | None
    bias: Array | None


def effective(values: NDArray[Any], offset: float) -> NDArray[Any]:
    """`values` + offset, added in float32 as a run does; float64 only where the stored values need it.

    Without an offset nothing is added: −0 + 0 would be +0, another value to the digest.
    """
    narrow = _float32(values)
    with np.errstate(all="ignore"):
        if narrow is None:
            wide = float64(values)
            return wide if offset == 0 else wide + offset
        return narrow if offset == 0 else narrow + np.float32(offset)


def value_sha256(values: NDArray[Any], offset: float) -> str | None:
    """SHA-256 over the effective values as little-endian float32, so that it is the same in every container.

    −0 is kept, every NaN is 0x7fc00000; None where a value is not exact in float32.
    """
    single = _float32(effective(values, offset))
    if single is None:
        return None
    bits = single.view(np.uint32).copy()
    bits[np.isnan(single)] = CANONICAL_NAN
    return hashlib.sha256(bits.astype("<u4").tobytes()).hexdigest()


def variants(parameters: NormParameters, output: Format) -> tuple[Variant, ...]:
    """The honest forms of gain and bias in a run whose output is `output`, those that differ, "as stored" first.

    A cast model holds them rounded to the output's dtype. An offset may then be added in that dtype, before the cast or
    after it (transformers' Nemotron computes `weight + 1` in the weight's own dtype; under autocast the sum is cast).
    """
    gain, bias, offset = parameters.gain, parameters.bias, parameters.weight_offset
    stored = gain if gain is not None else bias
    forms = [Variant(None if stored is None else str(stored.dtype), _as_stored(gain, offset), _as_stored(bias, 0.0))]
    cast = None if gain is None else output.round(float64(gain))
    cast_bias = None if bias is None else output.round(float64(bias))
    forms.append(Variant(output.name, _as_stored(cast, offset), cast_bias))
    if cast is not None and forms[0].gain is not None and offset != 0:
        forms.append(Variant(f"{output.name}, offset added in it", output.round(cast + offset), cast_bias))
        forms.append(Variant(f"{output.name}, cast after the offset", output.round(forms[0].gain), cast_bias))
    distinct: list[Variant] = []
    for form in forms:
        if distinct and nonfinite_parameter(form) is not None:
            continue  # a cast that overflows would leave its channels without a reference, and so unjudged
        if not any(_same(form.gain, other.gain) and _same(form.bias, other.bias) for other in distinct):
            distinct.append(form)
    return tuple(distinct)


def nonfinite_parameter(variant: Variant) -> str | None:
    """`gain[3] is nan`: the first parameter that is no finite number, None where all are."""
    for name, values in (("gain", variant.gain), ("bias", variant.bias)):
        if values is not None and not np.isfinite(values).all():
            at = int((~np.isfinite(values)).argmax())
            return f"{name}[{at}] is {float(values[at])}"
    return None


def _as_stored(values: NDArray[Any] | None, offset: float) -> Array | None:
    return None if values is None else float64(effective(values, offset))


def _same(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other, equal_nan=True)


def _float32(values: NDArray[Any]) -> NDArray[np.float32] | None:
    wide = float64(values)
    if not FLOAT32.holds(wide).all():
        return None
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.ascontiguousarray(wide.astype(np.float32))
