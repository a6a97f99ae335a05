"""Are two parameters the same? Bit for bit, in the artifact's own convention, or after the rounding that its dtype implies.

A converter takes the source's effective value g, subtracts what the artifact's convention leaves out, o, and stores it:
RN_A(g − o), RN_A rounding to nearest, ties to even, in the artifact's dtype A. Whether it rounds from float64 or through
float32 on the way is its own affair: both are accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.formats.dtypes import numpy_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ln_audit.against.side import Floats, Parameter

_NARROW = ("BF16", "F16")


def equality(artifact: Parameter, source: Parameter) -> str | None:
    """How the artifact's parameter [d] is the source's: a phrase for people; None when it is not, or shapes differ."""
    if artifact.stored.shape != source.stored.shape:
        return None
    if _alike(artifact, source) and artifact.stored.tobytes() == source.stored.tobytes():
        return "bit for bit"
    if not any(same(artifact.stored, form) for form in forms(wanted(artifact, source), artifact.dtype)):
        summed = any(same(artifact.stored, form) for form in _through_the_sum(artifact, source))
        return f"the source's, stored as the whole gain less the model's {artifact.offset:g}" if summed else None
    if artifact.offset == source.offset:
        if artifact.dtype == source.dtype:
            return "bit for bit"
        return "the same values" if same(artifact.stored, source.stored) else f"rounded to {artifact.dtype}, to nearest"
    convention = f"the source's {source.offset - artifact.offset:+g}, as the two conventions ask for"
    exact = np.array_equal(artifact.exact, source.exact, equal_nan=True)
    return convention if exact else f"{convention}, rounded to {artifact.dtype}"


def _alike(artifact: Parameter, source: Parameter) -> bool:
    return (artifact.dtype, artifact.offset) == (source.dtype, source.offset)


def wanted(artifact: Parameter, source: Parameter) -> Floats:
    """What a converter has to store [d], before rounding: the source's values in the artifact's convention."""
    apart = source.offset - artifact.offset
    with np.errstate(invalid="ignore"):
        held: Floats = source.stored.astype(np.float64)
    return held + apart if apart else held


def expected(artifact: Parameter, source: Parameter) -> list[NDArray[Any]]:
    """What honest converters store [d] in the artifact's dtype and convention."""
    return forms(wanted(artifact, source), artifact.dtype) + _through_the_sum(artifact, source)


def _through_the_sum(artifact: Parameter, source: Parameter) -> list[NDArray[Any]]:
    """A gain that lacks its 1 and came through a container that holds the gain (GGUF): the low bits of what is small are gone,
    and the model's own sum is the same without them.
    """
    if not artifact.offset or artifact.offset != source.offset:
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        whole = source.exact.astype(np.float32).astype(np.float64)
    return forms(whole - artifact.offset, artifact.dtype)


def forms(held: Floats, dtype: str) -> list[NDArray[Any]]:
    """The stored values that honest writers of `dtype` make of `held` [d]: rounded directly, or through float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        through = held.astype(np.float32)
        return [through.astype(numpy_dtype(dtype)), held.astype(numpy_dtype(dtype))]


def same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether two arrays hold the same values; any NaN is any other, and −0 is not +0."""
    with np.errstate(invalid="ignore"):
        a, b = left.astype(np.float64), right.astype(np.float64)
    return bool(
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))
    )


@dataclass(frozen=True, slots=True)
class Detour:
    """A dtype that the values went through on their way, and how."""

    text: str
    truncated: bool


def detour(artifact: Parameter, source: Parameter) -> Detour | None:
    """The rounding that no dtype of the two implies: cut off instead of rounded, or through a narrower dtype."""
    held = wanted(artifact, source)
    if artifact.dtype == "BF16" and same(artifact.stored, truncated(held).astype(numpy_dtype("BF16"))):
        return Detour("cut off after BF16's bits instead of rounded to nearest", truncated=True)
    for narrow in sorted(_NARROW, key=lambda each: each != artifact.dtype):
        if narrow == artifact.dtype and artifact.offset == source.offset:
            continue
        for form in forms(held, narrow) if narrow != artifact.dtype else ():
            with np.errstate(over="ignore", invalid="ignore"):
                if any(same(artifact.stored, each) for each in forms(form.astype(np.float64), artifact.dtype)):
                    return Detour(
                        f"every value went through {narrow} before it was stored as {artifact.dtype}", truncated=False
                    )
        with np.errstate(over="ignore", invalid="ignore"):
            raw = source.stored.astype(numpy_dtype(narrow)).astype(np.float64) + (source.offset - artifact.offset)
        if any(same(artifact.stored, each) for each in forms(raw, artifact.dtype)):
            return Detour(f"the source went through {narrow} before it was stored as {artifact.dtype}", truncated=False)
    cut = truncated(held)
    if artifact.dtype != "BF16" and any(
        same(artifact.stored, each) for each in forms(cut.astype(np.float64), artifact.dtype)
    ):
        return Detour(f"cut off after BF16's bits before it was stored as {artifact.dtype}", truncated=True)
    return None


def truncated(values: Floats) -> NDArray[np.float32]:
    """float32 values [d] without the sixteen bits that bfloat16 does not have."""
    with np.errstate(over="ignore", invalid="ignore"):
        bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)
