"""One side of a comparison: an artifact or its source, with the values that were read of its norms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ln_audit.formats.dtypes import array, readable, unit_roundoff
from ln_audit.numerics.floats import FLOAT64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ln_audit.core import Checkpoint, Norm, Stored

    Floats = NDArray[np.float64]

Part = Literal["gain", "bias"]


@dataclass(frozen=True, slots=True)
class Side:
    """A checkpoint as one of the two sides: whose it is, its norms, and what was read of them.

    `family` is None where it is unknown. `offset_unknown`: nothing says whether the gains still lack the family's offset.
    """

    identity: str
    checkpoint: Checkpoint
    norms: tuple[Norm, ...]
    values: Mapping[str, Stored]
    family: str | None = None
    offset_unknown: bool = False
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file that messages name."""
        return self.checkpoint.files[0]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A gain or bias [d] of one side: as it is stored, and what the model computes with (stored + offset)."""

    tensor: str
    dtype: str
    stored: NDArray[Any]
    offset: float

    @property
    def exact(self) -> Floats:
        """The effective values in float64: the sum of two float32 is exact there."""
        with np.errstate(invalid="ignore"):
            wide: Floats = self.stored.astype(np.float64)
        return wide if self.offset == 0 else wide + self.offset

    @property
    def step(self) -> float:
        """The relative spacing of the stored dtype: twice its unit roundoff."""
        return 2 * (unit_roundoff(self.dtype) or FLOAT64.u)


def held(side: Side, norm: Norm, part: Part) -> Parameter | None:
    """A norm's gain or bias on one side, flat; None where it has none, or it is missing, quantized or was not read."""
    tensor, offset = (norm.gain, norm.weight_offset) if part == "gain" else (norm.bias, 0.0)
    stored = None if tensor is None else side.values.get(tensor)
    if tensor is None or stored is None or not stored.exact or not readable(stored.dtype):
        return None
    return Parameter(tensor, stored.dtype, array(stored).reshape(-1), offset)
