"""Two parameters that should be the same and are not, with what an explanation may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ln_audit.against.side import parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.against.pairing import Pair, Pairing
    from ln_audit.against.side import Floats, Parameter, Side

Part = Literal["gain", "bias"]


@dataclass(frozen=True, slots=True)
class Twins:
    """All parameters of both sides, so that one norm's can be found under another's name."""

    artifact: Side
    source: Side
    pairing: Pairing
    by_value: Mapping[
        tuple[Part, bytes], tuple[str, ...]
    ]  # effective float32 values → the source's norms that hold them

    def holders(self, part: Part, values: Floats) -> tuple[str, ...]:
        """The source's norms whose parameter has exactly these effective values."""
        return self.by_value.get((part, _key(values)), ())


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter [d] on both sides."""

    pair: Pair
    part: Part
    artifact: Parameter
    source: Parameter
    twins: Twins

    @property
    def whole(self) -> bool:
        """Whether both have the same number of elements."""
        return self.artifact.stored.shape == self.source.stored.shape

    def fits(self, expected: Floats) -> bool:
        """Whether the artifact's effective values are `expected` [d], but for the rounding of both stored dtypes."""
        ours = self.artifact.exact
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(ours) + np.abs(expected) + abs(self.artifact.offset) + abs(self.source.offset)
            slack = (self.artifact.step + self.source.step) * size
            return bool(np.all(np.abs(ours - expected) <= slack))


def twins(artifact: Side, source: Side, pairing: Pairing) -> Twins:
    """The two sides with the source's parameters indexed by value."""
    found: dict[tuple[Part, bytes], list[str]] = {}
    for norm in source.norms or tuple(pair.source for pair in pairing.pairs):
        gain, bias = parameter(source, norm.gain, norm.weight_offset), parameter(source, norm.bias, 0.0)
        parts: tuple[tuple[Part, Parameter | None], ...] = (("gain", gain), ("bias", bias))
        for part, held in parts:
            if held is not None:
                found.setdefault((part, _key(held.exact)), []).append(norm.name)
    return Twins(artifact, source, pairing, {key: tuple(names) for key, names in found.items()})


def _key(values: Floats) -> bytes:
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32).tobytes()
