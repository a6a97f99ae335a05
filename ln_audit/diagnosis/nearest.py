"""Where nothing explains a recording: the fault that leaves least over, how far it goes, and where it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import Fault, reference, with_parameters
from ln_audit.diagnosis.sample import take
from ln_audit.diagnosis.trial import least_off

if TYPE_CHECKING:
    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.floats import Mask

NAMED = 4  # rows or channels that a sentence lists
FEWEST = 4  # rows: a pair takes two, and one more that contradicts it may be chance
MUCH = 0.1  # of the variance: every fault of the norm itself leaves far less; it bends rows, and does not mix them


@dataclass(slots=True)
class Nearest:
    """The fault that leaves the smallest share of the elements it was tried on."""

    fault: Fault | None = None
    share: float = np.inf

    def offer(self, fault: Fault, share: float) -> None:
        """Keep the fault if it goes further than the best so far; of equals the simpler, which came first."""
        if share < self.share:
            self.fault, self.share = fault, share


def described(nearest: Nearest, suspect: Suspect, sample: Batch) -> str:
    """What to tell: that the input is another, or what goes furthest and where that breaks."""
    unchanged = Fault("the reference", "", with_parameters(suspect, suspect.parameters))
    off, _ = least_off(unchanged, suspect, sample)
    unfit = _left_over(suspect, sample) if off.any(axis=1).all() else 0.0  # a row that agrees is one that the norm saw
    if unfit > MUCH:
        also = f", nor is any of the {len(suspect.states)} recorded hidden states" if suspect.states else ""
        return (
            f"before is not what this norm saw{also}: even gain and bias fitted to these rows leave {unfit:.0%} of the "
            "output unexplained; it is a state of another layer, or a residual is added to it first"
        )
    best = nearest.fault
    if best is not None:
        rows = sample if best.state is None else take(suspect.states[best.state], sample.at)
        left, ratio = least_off(best, suspect, rows)
        if left.sum() < off.sum():
            return (
                f"nothing explains it; nearest is {best.name}, which leaves {int(left.sum()):,} of {left.size:,} "
                f"elements {_where(left, sample, suspect)} (largest error ratio {ratio:.3g})"
            )
    return f"nothing explains it: off {_where(off, sample, suspect)}{_padding(off, sample)}"


def _padding(off: Mask, sample: Batch) -> str:
    """What is to be said of rows that are off because nothing was written there; empty where it was."""
    rows = off.any(axis=1)
    empty = sample.after is not None and bool((sample.after[rows] == 0).all())
    return "; after is 0 throughout there: padding? leave those rows out" if empty and off.sum() > 1 else ""


def _left_over(suspect: Suspect, sample: Batch) -> float:
    """The part of a channel's variance that no gain and bias explain, the median over channels; 0 where rows are few."""
    if sample.after is None:
        return 0.0
    z = reference(sample, suspect).z
    kept = np.isfinite(z).all(axis=1) & np.isfinite(sample.after).all(axis=1)
    n = int(kept.sum())
    if len(np.unique(z[kept], axis=0)) < FEWEST:  # a row that is repeated has no variance to explain
        return 0.0
    z, y = (each[kept] - each[kept].mean(axis=0) for each in (z, sample.after))  # [n, d]
    with np.errstate(all="ignore"):
        slope = np.sum(z * y, axis=0) / np.sum(z * z, axis=0)
        left = np.sum((y - slope * z) ** 2, axis=0) / (n - 2) / (np.sum(y * y, axis=0) / (n - 1))  # [d]
    return float(np.median(left[np.isfinite(left)])) if np.isfinite(left).any() else 0.0


def _where(off: Mask, batch: Batch, suspect: Suspect) -> str:
    """`at [0, 5, 138]`, `in 3 of 768 channels (138, 378, 447)`, `in 2 of 33 rows ([0, 5], [0, 9])`: whatever is shortest."""
    rows, channels, leading = off.any(axis=1), off.any(axis=0), suspect.rows.leading
    if rows.all() and channels.all():
        return "in every row and channel"
    at = [[int(axis) for axis in np.unravel_index(row, leading)] for row in batch.at[rows]]
    if off.sum() == 1:
        return f"at {[*at[0], int(channels.argmax())]}"
    if channels.mean() <= rows.mean():
        return _some("channels", [str(each) for each in np.flatnonzero(channels)], off.shape[1])
    return _some("rows looked at", [str(each) for each in at], off.shape[0])


def _some(what: str, which: list[str], count: int) -> str:
    more = ", …" if len(which) > NAMED else ""
    return f"in {len(which):,} of {count:,} {what} ({', '.join(which[:NAMED])}{more})"
