"""What one tiny model left behind: its folder as saved, and what went into and came out of each of its norms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]


class Rows(NamedTuple):
    """A norm's input and output [..., d], each in the dtype that it had in the run (bfloat16 by ml_dtypes)."""

    before: np.ndarray[Any, Any]
    after: np.ndarray[Any, Any]


@dataclass(frozen=True)
class RecordedNorm:
    """One norm module of the model, under the name that its tensors have in the saved file.

    `kind` is what its own numbers show, None where they show neither LayerNorm nor RMSNorm over the last axis; `offset` is
    what it adds to the stored gain. `order` counts the calls of the run, None for a module that was never called.
    """

    name: str
    module: str
    gain: str | None
    bias: str | None
    kind: str | None = None
    offset: float = 0.0
    eps: float | None = None
    order: int | None = None
    rows: Mapping[str, Rows] = field(default_factory=dict)  # by the dtype of the run

    @property
    def tensors(self) -> tuple[str, ...]:
        """Its tensors in the file, gain first."""
        return tuple(name for name in (self.gain, self.bias) if name is not None)

    @property
    def judged(self) -> bool:
        """Whether it was run in float32 and is of a kind that a recording can be held against."""
        return self.kind is not None and "float32" in self.rows


@dataclass(frozen=True)
class RecordedModel:
    """A tiny model as transformers saved it, with its norms; `notes` say what of it could not be run, and why."""

    model_type: str
    folder: Path
    tensors: Mapping[str, Array]
    config: Mapping[str, Any]
    norms: tuple[RecordedNorm, ...]
    notes: tuple[str, ...] = ()

    def norm(self, name: str) -> RecordedNorm | None:
        """The norm whose tensors are called `name`."""
        return next((norm for norm in self.norms if norm.name == name), None)
