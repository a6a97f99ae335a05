"""Whether the matrices that read a norm changed with it: what tells a gain that was folded from one that was reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.equality import forms, same
from ln_audit.errors import AuditError
from ln_audit.formats.dtypes import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.against.pairing import Pair
    from ln_audit.against.side import Side

AMOUNT = 64 * 1024  # bytes that are read of each side
_MOST = 4  # matrices that share them


def unchanged(pair: Pair, artifact: Side, source: Side) -> bool | None:
    """Whether the matrices that may read this norm are the source's as far as 64 kB of them go, but for the rounding to a
    narrower dtype.

    None where they cannot be compared: a container that is not read in parts, or none of the same name and shape.
    """
    names = list(_shared(pair, artifact, source))[:_MOST]
    if not names or artifact.checkpoint.read_beginning is None or source.checkpoint.read_beginning is None:
        return None
    try:
        return all(_alike(name, AMOUNT // len(names), artifact, source) for name in names)
    except AuditError:
        return None


def _alike(name: str, count: int, artifact: Side, source: Side) -> bool:
    """The beginning of one matrix, of at most `count` bytes on either side."""
    sides = [(side.checkpoint.tensors[name].dtype, side.checkpoint.read_beginning) for side in (artifact, source)]
    (ours, read), (theirs, read_source) = sides
    if read is None or read_source is None:
        return False
    if ours == theirs:
        return read(name, count) == read_source(name, count)
    elements = count // max(numpy_dtype(ours).itemsize, numpy_dtype(theirs).itemsize)
    left, right = (
        np.frombuffer(reader(name, elements * numpy_dtype(dtype).itemsize), numpy_dtype(dtype))
        for dtype, reader in ((ours, read), (theirs, read_source))
    )
    return any(same(left, form) for form in forms(right.astype(np.float64), ours))


def _comparable(ours: str, theirs: str) -> bool:
    return ours == theirs or (ours in _FLOATS and theirs in _FLOATS)


_FLOATS = ("BF16", "F16", "F32", "F64")


def _shared(pair: Pair, artifact: Side, source: Side) -> Iterator[str]:
    """Matrices of the norm's layer (or of none, for a norm outside the layers) with its width, alike on both sides."""
    layer = pair.artifact.layer
    for name, info in artifact.checkpoint.tensors.items():
        twin = source.checkpoint.tensors.get(name)
        inside = f".{layer}." in name if layer is not None else not any(word.isdigit() for word in name.split("."))
        alike = twin is not None and twin.shape == info.shape and _comparable(info.dtype, twin.dtype)
        if alike and inside and len(info.shape) == 2 and pair.artifact.width in info.shape:
            yield name
