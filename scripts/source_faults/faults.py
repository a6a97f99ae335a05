"""What people and machines do to a norm's parameters on the way: each plants one fault into what a converter wrote.

A fault works on the stored tensors, in the artifact's own names and convention, and says which norms it struck, by what the
family calls them. None where the artifact cannot have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scripts.source_faults.artifacts import DTYPES, converted
from scripts.source_faults.models import build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scripts.source_faults.artifacts import Artifact, Held
    from scripts.source_faults.models import Array

    Change = Callable[[Array, Held], Array | None]


@dataclass(frozen=True)
class Planted:
    """A spoilt artifact, and what the family calls the norms that are wrong in it."""

    artifact: Artifact
    struck: tuple[str, ...] = ()


def gains(artifact: Artifact) -> list[Held]:
    """The norms that have a gain."""
    return [held for held in artifact.held if held.gain is not None]


def final(artifact: Artifact) -> list[Held]:
    """The final norm, where it has a gain."""
    return [held for held in gains(artifact) if held.norm.role == "final"]


def block(artifact: Artifact) -> list[Held]:
    """One block norm: the first layer's first of the model's width."""
    wide = [held for held in gains(artifact) if held.norm.layer == 0 and "input_layernorm" in held.norm.promised]
    return (wide or [held for held in gains(artifact) if held.norm.layer == 0])[:1]


def layer(artifact: Artifact) -> list[Held]:
    """All norms of one layer."""
    return [held for held in gains(artifact) if held.norm.layer == 1]


def changed(artifact: Artifact, struck: Sequence[Held], change: Change) -> Planted | None:
    """The gains of these norms changed, and rounded to the dtype that they are stored in."""
    if not struck:
        return None
    new: dict[str, Array | None] = {}
    for held in struck:
        assert held.gain is not None
        stored = artifact.tensors[held.gain]
        made = change(stored.astype(np.float64), held)
        new[held.gain] = None if made is None else made.astype(stored.dtype)
    return Planted(artifact.with_tensors(new), tuple(held.norm.promised for held in struck))


def shifted(by: float, where: Callable[[Artifact], list[Held]]) -> Callable[[Artifact], Planted | None]:
    """A constant added to gains."""
    return lambda artifact: changed(artifact, where(artifact), lambda stored, _: stored + by)


def applied_twice(artifact: Artifact) -> Planted | None:
    """The step from the Hub's convention to this container's, taken once more; or, where both store alike, the 1 added twice."""
    struck = [held for held in gains(artifact) if held.norm.weight_offset]
    return changed(artifact, struck, lambda stored, held: stored + (held.norm.weight_offset - held.lacks or 2))


def never_applied(artifact: Artifact) -> Planted | None:
    """The Hub's stored gains as they are, in a container that stores the gain itself."""
    struck = [held for held in gains(artifact) if held.norm.weight_offset != held.lacks]
    return changed(artifact, struck, lambda stored, held: stored - (held.norm.weight_offset - held.lacks))


def missing(artifact: Artifact) -> Planted | None:
    """The final norm was left out."""
    return changed(artifact, final(artifact), lambda *_: None)


def longer(artifact: Artifact) -> Planted | None:
    """Padded to another width."""
    return changed(artifact, final(artifact), lambda stored, _: np.concatenate([stored, stored[:4]]))


def first_half(artifact: Artifact) -> Planted | None:
    """A shard of two saved as if it were whole."""
    return changed(artifact, block(artifact), lambda stored, _: stored[: stored.size // 2])


def cut_off(artifact: Artifact) -> Planted | None:
    """Truncated to bfloat16 instead of rounded, whether it is then stored as bfloat16 or as float32."""
    new: dict[str, Array | None] = {}
    struck: list[str] = []
    for held in gains(artifact):
        assert held.gain is not None
        assert held.norm.gain is not None
        dtype = artifact.tensors[held.gain].dtype
        exact = artifact.model.tensors[held.norm.gain] + np.float32(held.norm.weight_offset - held.lacks)
        kept = (exact.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        if dtype == np.float16:
            return None
        if not np.array_equal(kept.astype(dtype), exact.astype(dtype)):  # nothing is cut off a bfloat16 source
            new[held.gain] = kept.astype(dtype)
            struck.append(held.norm.promised)
    return Planted(artifact.with_tensors(new), tuple(struck)) if struck else None


def reset(artifact: Artifact) -> Planted | None:
    """A loader did not find it: the gain is 1 again."""
    return changed(artifact, block(artifact), lambda stored, held: np.full_like(stored, 1 - held.lacks))


def all_zero(artifact: Artifact) -> Planted | None:
    """A tensor that was never filled: the model multiplies with 0."""
    return changed(artifact, block(artifact), lambda stored, held: np.full_like(stored, -held.lacks))


def not_a_number(artifact: Artifact) -> Planted | None:
    """One NaN."""
    return changed(artifact, final(artifact), lambda stored, _: np.where(np.arange(stored.size) == 3, np.nan, stored))


def one_bit(artifact: Artifact) -> Planted | None:
    """The lowest bit of the exponent of one element is flipped."""
    struck = final(artifact)
    if not struck or struck[0].gain is None:
        return None
    stored = artifact.tensors[struck[0].gain].copy()
    mantissa = {"float32": 23, "float16": 10, "bfloat16": 7}[stored.dtype.name]
    stored.view(f"u{stored.itemsize}")[5] ^= 1 << mantissa
    return Planted(artifact.with_tensors({struck[0].gain: stored}), (struck[0].norm.promised,))


def swapped_in_layer(artifact: Artifact) -> Planted | None:
    """Two norms of a layer changed places."""
    first = block(artifact)
    others = [
        held
        for held in gains(artifact)
        if first and held.norm.layer == 0 and held.norm.width == first[0].norm.width and held != first[0]
    ]
    return _exchanged(artifact, [(first[0], others[0])] if others else [])


def swapped_layers(artifact: Artifact) -> Planted | None:
    """All norms of two layers changed places."""
    here = {held.norm.pattern: held for held in gains(artifact) if held.norm.layer == 0}
    pairs = [(here[held.norm.pattern], held) for held in layer(artifact) if held.norm.pattern in here]
    return _exchanged(artifact, pairs)


def _exchanged(artifact: Artifact, pairs: Sequence[tuple[Held, Held]]) -> Planted | None:
    new: dict[str, Array | None] = {}
    for left, right in pairs:
        for a, b in ((left.gain, right.gain), (left.bias, right.bias)):
            if a is not None and b is not None:
                new |= {a: artifact.tensors[b], b: artifact.tensors[a]}
    struck = tuple(held.norm.promised for pair in pairs for held in pair)
    return Planted(artifact.with_tensors(new), struck) if struck else None


def bias_zeroed(artifact: Artifact) -> Planted | None:
    """A bias became zeros."""
    struck = next((held for held in final(artifact) if held.bias is not None), None)
    if struck is None or struck.bias is None:
        return None
    zeros = np.zeros_like(artifact.tensors[struck.bias])
    return Planted(artifact.with_tensors({struck.bias: zeros}), (struck.norm.promised,))


def another(artifact: Artifact) -> Planted:
    """Another checkpoint of the same shape, converted as it should be."""
    dtype = next(
        name
        for name, kind in DTYPES.items()
        if artifact.tensors and kind == next(iter(artifact.tensors.values())).dtype
    )
    other = converted(build(artifact.model.spec, seed=2), artifact.container, dtype)
    return Planted(other, tuple(held.norm.promised for held in gains(artifact)))


def gain_added(artifact: Artifact) -> Planted | None:
    """A norm that has no parameters was given a gain; only where the whole model has none."""
    if gains(artifact):
        return None
    name = "output_norm.weight" if artifact.container == "gguf" else f"{artifact.model.spec.prefix}norm.weight"
    return Planted(artifact.with_tensors({name: np.full(16, 1.3, np.float32)}))


def permuted(artifact: Artifact) -> Planted | None:
    """A layout was applied to a norm: channels in another order."""
    return changed(artifact, block(artifact), lambda stored, _: stored.reshape(2, -1).T.reshape(-1))


def scaled(artifact: Artifact) -> Planted | None:
    """One factor folded into the gain that the model computes with."""
    return changed(artifact, final(artifact), lambda stored, held: (stored + held.lacks) * 0.7 - held.lacks)


def channel_factors(artifact: Artifact) -> Planted | None:
    """A factor for each channel, as AWQ folds into the norm before a matrix."""
    rng = np.random.default_rng(3)

    def fold(stored: Array, held: Held) -> Array:
        return (stored + held.lacks) * np.exp(rng.normal(0, 0.3, stored.size)) - held.lacks

    return changed(artifact, block(artifact), fold)
