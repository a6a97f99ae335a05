"""Two parameters that should be the same and are not, with what an explanation may look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.against.equality import expected
from ln_audit.against.side import held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ln_audit.against.pairing import Pair, Pairing
    from ln_audit.against.side import Floats, Parameter, Part, Side


@dataclass(frozen=True)
class Twins:
    """All parameters of both sides, so that one norm's can be found under another's name."""

    artifact: Side
    source: Side
    pairing: Pairing
    _indexes: dict[tuple[Part, str, float], Mapping[bytes, tuple[str, ...]]] = field(default_factory=dict, repr=False)

    def holders(self, part: Part, ours: Parameter) -> tuple[str, ...]:
        """The source's norms whose parameter is stored like this in the artifact's dtype and convention."""
        index = self._indexes.get((part, ours.dtype, ours.offset))
        if index is None:  # nobody pays for it before something differs
            index = self._indexes[part, ours.dtype, ours.offset] = self._index(part, ours)
        return index.get(_key(ours.stored), ())

    def _index(self, part: Part, ours: Parameter) -> Mapping[bytes, tuple[str, ...]]:
        found: dict[bytes, list[str]] = {}
        for norm in self.source.norms or tuple(pair.source for pair in self.pairing.pairs):
            theirs = held(self.source, norm, part)
            if theirs is not None:
                for key in {_key(form) for form in expected(ours, theirs)}:
                    found.setdefault(key, []).append(norm.name)
        return {key: tuple(names) for key, names in found.items()}


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

    @property
    def forms(self) -> list[NDArray[Any]]:
        """What honest converters would have stored [d]."""
        return expected(self.artifact, self.source)

    def fits(self, values: Floats) -> bool:
        """Whether the artifact's effective values are `values` [d], but for the rounding of both stored dtypes."""
        ours = self.artifact.exact
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(ours) + np.abs(values) + abs(self.artifact.offset) + abs(self.source.offset)
            size += np.abs(self.source.exact)  # what is small now may have been rounded when it was larger
            slack = (self.artifact.step + self.source.step) * size
            return bool(np.all(np.abs(ours - values) <= slack))


def _key(stored: NDArray[Any]) -> bytes:
    with np.errstate(over="ignore", invalid="ignore"):
        return stored.astype(np.float32).tobytes()
