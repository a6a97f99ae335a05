"""How the residual stream grows from layer to layer, and what the final norm does to it.

Streamed, never all in memory. Only what the recording shows is said: that a state *equals* what the norm gave can be
seen; that it "looks normed" cannot, and is never claimed. `text` draws the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import ArrayFile, Recording

OUTLIER_RATIO = (
    6.0  # to the median channel. Chance alone reaches 5.3 with two positions and 2.4 with ten (Gaussian rows)
)
_BLOCK_ELEMENTS = 1 << 16  # 512 kB in float64: stays in the L2 cache


@dataclass(frozen=True, slots=True)
class Outlier:
    """A channel whose mean |x| is `ratio` times that of the median channel."""

    channel: int
    mean_abs: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Magnitude:
    """One recorded state: its mean L2 norm per position, None where that is not finite, and its outlier channels.

    `outliers`: the largest first; none are named from a single position, or where the median channel is zero.
    """

    name: str
    positions: int
    mean_norm: float | None
    outliers: tuple[Outlier, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """All recorded states of one model run, and the two sides of one of its norms.

    `equal_to_before`, `equal_to_after`: the states that hold the same numbers in every place. `reproduces_after`: the
    states that the norm's formula takes to `after` within its tolerance; None when the norm's parameters were not
    given.
    """

    recording: str
    norm: str
    width: int
    states: tuple[Magnitude, ...]
    before: Magnitude
    after: Magnitude
    equal_to_before: tuple[str, ...]
    equal_to_after: tuple[str, ...]
    reproduces_after: tuple[str, ...] | None

    @property
    def stream(self) -> tuple[Magnitude, ...]:
        """The residual stream in the order of the layers.

        Where the last recorded state is what the norm gave (transformers returns it so), what the last layer gave
        stands in `before`, and takes its place.
        """
        if self.states and self.states[-1].name in self.equal_to_after:
            return (*self.states[:-1], self.before)
        return self.states


def trace(recording: Recording, norm: str | None = None, parameters: NormParameters | None = None) -> Trace:
    """Measure all hidden states of a recording and the two sides of one norm.

    `norm` may be None when the recording holds only one; a recording of bare `before` and `after` belongs to the norm
    that is named here, else in its metadata. With `parameters` every state is also put through the norm and held
    against `after`. Raises `UsageError` (no such norm, or several and none named) and `RecordingError`.
    """
    chosen = _chosen(recording, norm)
    rows = recording.rows(chosen)
    label = norm or chosen or recording.metadata.get("norm", "")
    states = {f"hidden_states.{number}": recording.state(number) for number in recording.states}
    return Trace(
        recording=recording.name,
        norm=label,
        width=rows.width,
        states=tuple(_magnitude(name, state) for name, state in states.items()),
        before=_magnitude("before", rows.before),
        after=_magnitude("after", rows.after),
        equal_to_before=tuple(name for name, state in states.items() if _equal(state, rows.before)),
        equal_to_after=tuple(name for name, state in states.items() if _equal(state, rows.after)),
        reproduces_after=None if parameters is None else tuple(_reproducing(states, rows.after, label, parameters)),
    )


def _chosen(recording: Recording, norm: str | None) -> str:
    """The recording's own name of the norm to look at: the one named, or the only one."""
    known = recording.norms
    if known == ("",) or (norm is None and len(known) == 1):
        return known[0]
    if norm is None or norm not in known:
        names = " or ".join(known)
        raise UsageError(f"{recording.name}: norm: expected {names}, found {norm or 'none named'}", hint="--norm NAME")
    return norm


def _block_rows(state: ArrayFile) -> int:
    return max(1, _BLOCK_ELEMENTS // state.width)


def _magnitude(name: str, state: ArrayFile) -> Magnitude:
    """The mean L2 norm and the outlier channels of one state, in one pass."""
    import numpy as np

    from ln_audit.numerics.floats import float64

    positions, total, mean_abs = state.positions, 0.0, np.zeros(state.width)  # [d]
    with np.errstate(all="ignore"):  # what is not finite, or overflows when squared, is told by the result
        for block in state.blocks(_block_rows(state)):
            x = float64(block)  # [n, d]
            total += float(np.sqrt((x * x).sum(axis=-1)).sum())
            mean_abs += np.abs(x).sum(axis=0) / positions
    finite = isfinite(total)
    outliers = _outliers(mean_abs) if finite and positions > 1 else ()
    return Magnitude(name, positions, total / positions if finite else None, outliers)


def _outliers(mean_abs: np.ndarray[Any, Any]) -> tuple[Outlier, ...]:
    """The channels of [d] that stand above `OUTLIER_RATIO` times the median channel."""
    import numpy as np

    median = float(np.median(mean_abs))
    if median == 0.0:
        return ()
    largest = np.argsort(-mean_abs, kind="stable")
    return tuple(
        Outlier(int(channel), float(mean_abs[channel]), float(mean_abs[channel]) / median)
        for channel in largest
        if mean_abs[channel] > OUTLIER_RATIO * median
    )


def _same_extent(one: ArrayFile, other: ArrayFile) -> bool:
    """Whether both are as wide and hold as many rows; how these are shaped may differ ([1, n, d] and [n, d])."""
    return (one.width, one.positions) == (other.width, other.positions)


def _equal(one: ArrayFile, other: ArrayFile) -> bool:
    """Whether both hold the same numbers, −0 told from 0; the dtype they are stored in may differ."""
    if not _same_extent(one, other):
        return False
    from ln_audit.numerics.floats import float64
    from ln_audit.recording.recording import NormRows

    pairs = NormRows(one, other).blocks(_block_rows(one))
    return all(float64(a).tobytes() == float64(b).tobytes() for a, b in pairs)


def _reproducing(
    states: Mapping[str, ArrayFile], after: ArrayFile, norm: str, parameters: NormParameters
) -> Iterator[str]:
    """The states that the norm takes to the recorded `after`, by the same comparison that judges a recording."""
    from ln_audit.numerics.compare import compare
    from ln_audit.recording.recording import NormRows

    for name, state in states.items():
        if _same_extent(state, after):
            rows = NormRows(state, after)
            if compare(rows, parameters, norm=norm, recording=name, provenance="recorded").status == "pass":
                yield name
