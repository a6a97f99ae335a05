"""Whether the matrices that read a norm changed with it: what tells a gain that was folded from one that was reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.against.pairing import Pair
    from ln_audit.against.side import Side

AMOUNT = 64 * 1024  # bytes that are read of each side
_MOST = 4  # matrices that share them


def unchanged(pair: Pair, artifact: Side, source: Side) -> bool | None:
    """Whether the matrices that may read this norm are the source's, bit for bit as far as 64 kB of them go.

    None where they cannot be compared: another container, another dtype, or none of the same name and shape.
    """
    names = list(_shared(pair, artifact, source))[:_MOST]
    ours, theirs = artifact.checkpoint.read_beginning, source.checkpoint.read_beginning
    if not names or ours is None or theirs is None:
        return None
    try:
        return all(ours(name, AMOUNT // len(names)) == theirs(name, AMOUNT // len(names)) for name in names)
    except AuditError:
        return None


def _shared(pair: Pair, artifact: Side, source: Side) -> Iterator[str]:
    """Matrices of the norm's layer (or of none, for a norm outside the layers) with its width, alike on both sides."""
    if artifact.checkpoint.format != source.checkpoint.format:
        return
    layer = pair.artifact.layer
    for name, info in artifact.checkpoint.tensors.items():
        twin = source.checkpoint.tensors.get(name)
        inside = f".{layer}." in name if layer is not None else not any(word.isdigit() for word in name.split("."))
        alike = twin is not None and (twin.shape, twin.dtype) == (info.shape, info.dtype)
        if alike and inside and len(info.shape) == 2 and pair.artifact.width in info.shape:
            yield name
