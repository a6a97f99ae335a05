"""Which norm of the artifact is which of the source: by role and layer through the families, never by likeness of names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ln_audit.core import Norm
from ln_audit.families.names import NORM
from ln_audit.same_norm import keyed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.against.side import Side
    from ln_audit.core import TensorInfo


@dataclass(frozen=True, slots=True)
class Pair:
    """The same norm on both sides."""

    artifact: Norm
    source: Norm


@dataclass(frozen=True, slots=True)
class Pairing:
    """All pairs, and what has no partner. `by_name`: the family is unknown, and the very same tensor name is the evidence."""

    pairs: tuple[Pair, ...]
    only_artifact: tuple[Norm, ...] = ()
    only_source: tuple[Norm, ...] = ()
    by_name: bool = False


def pairing(artifact: Side, source: Side, besides: Sequence[Norm] = ()) -> Pairing:
    """Pair through the families; where one of them is unknown, tensors of the very same name in the same container.

    `besides` are norms of the source that no family promises: each is paired with the tensor of its name.
    """
    if artifact.family is None or source.family is None:
        found = _by_name(artifact, source)
        named = {pair.source.gain for pair in found.pairs} | {norm.gain for norm in found.only_source}
        besides = [norm for norm in besides if norm.gain not in named]
    else:
        ours, theirs = keyed(artifact.norms), keyed(source.norms)
        found = Pairing(
            tuple(Pair(norm, theirs[key]) for key, norm in ours.items() if key in theirs),
            tuple(norm for key, norm in ours.items() if key not in theirs),
            tuple(norm for key, norm in theirs.items() if key not in ours),
        )
    there = [norm for norm in besides if norm.gain in artifact.checkpoint.tensors]
    return replace(
        found,
        pairs=(*found.pairs, *(Pair(norm, norm) for norm in there)),
        only_source=(*found.only_source, *(norm for norm in besides if norm not in there)),
    )


def _by_name(artifact: Side, source: Side) -> Pairing:
    """Vectors under a module that is called like a norm; nothing where the containers spell names differently."""
    if artifact.checkpoint.format != source.checkpoint.format:
        return Pairing((), by_name=True)
    ours, theirs = {n.name: n for n in vectors(artifact)}, {n.name: n for n in vectors(source)}
    return Pairing(
        tuple(Pair(norm, theirs[name]) for name, norm in ours.items() if name in theirs),
        tuple(norm for name, norm in ours.items() if name not in theirs),
        tuple(norm for name, norm in theirs.items() if name not in ours),
        by_name=True,
    )


def vectors(side: Side) -> Iterator[Norm]:
    """What may be norms where the family is unknown, each tensor by itself: their kind and their epsilon are not known."""
    for name, info in side.checkpoint.tensors.items():
        module = name.rpartition(".")[0].rpartition(".")[2]
        if len(info.shape) == 1 and NORM.search(module):
            yield nameless(info)


def nameless(info: TensorInfo) -> Norm:
    """A tensor as a norm of which nothing is known."""
    width = info.shape[-1] if info.shape else None
    return replace(_UNKNOWN, name=info.name, promised=info.name, gain=info.name, width=width)


_UNKNOWN = Norm(
    name="", role="other", stack=None, layer=None, kind="unknown", gain=None, bias=None, width=None,
    width_source="its shape, no family", eps=None, eps_source="nobody says it", eps_origin="unknown",
)  # fmt: skip
