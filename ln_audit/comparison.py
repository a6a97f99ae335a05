"""What a comparison of recorded rows with the reference came to: one frozen value, evidence for checks and reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Status
    from ln_audit.pictures import Shares

# How a flaw ends with which a recording shows nothing at all: of the rows, and of the norm.
OUTPUT_IS_BIAS = "the output is the bias, whatever the gain"
GAIN_IS_ZERO = "the output is the bias, whatever the rows"


@dataclass(frozen=True, slots=True)
class Worst:
    """The judged element with the largest error ratio."""

    index: tuple[int, ...]
    channel: int
    recorded: float
    expected: float
    tolerance: float
    error_ratio: float


@dataclass(frozen=True, slots=True)
class Nonfinite:
    """Counts of non-finite numbers in a recording, and the index of the first."""

    nan: int
    inf: int
    first: tuple[int, ...]
    where: Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hypothesis that explains a recording which the reference does not."""

    name: str
    error_ratio: float
    parameters: Mapping[str, float]
    advice: str


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """One recording against the float64 reference of one norm. A comparison is evidence; checks make findings of it.

    `finding` is a short stable name of what was found: `agrees`, `off-reference`, `summation-order`, `unexplained`, ….
    """

    norm: str
    recording: str
    provenance: str
    status: Status
    finding: str
    message: str
    positions: int = 0
    elements: int = 0
    unjudged: int = 0
    output_dtype: str | None = None
    output_dtype_source: str | None = None
    stored_dtype: str | None = None
    param_dtype: str | None = None
    chain: str | None = None
    max_abs_error: float | None = None
    max_error_ratio: float | None = None
    outside_cells: int | None = None
    nonfinite: Nonfinite | None = None
    worst: Worst | None = None
    explained_by: tuple[Explanation, ...] = ()
    cannot_tell: tuple[Mapping[str, Any], ...] = ()
    can_tell: tuple[Mapping[str, Any], ...] = ()
    smallest_changes: tuple[Mapping[str, Any], ...] = ()  # relative changes of gains and biases that are seen
    degenerate: tuple[str, ...] = ()  # why the rows show next to nothing
    notes: tuple[str, ...] = ()
    weights: Literal["same", "unknown"] = "unknown"  # by the digests that the recording carries
    packaged: bool = False  # ours, not the user's: skipping it is no gap of the user's own evidence
    shares: Shares | None = field(default=None, metadata={"picture": True})  # in no document

    @property
    def blind(self) -> str | None:
        """Why the recording shows nothing of epsilon and kind, so that any norm of this bias would have fitted; None where it does."""
        return next((flaw for flaw in self.degenerate if flaw.endswith((OUTPUT_IS_BIAS, GAIN_IS_ZERO))), None)

    def __repr__(self) -> str:
        return f"<Comparison {self.norm} against {self.recording}: {self.status}, {self.message}>"
