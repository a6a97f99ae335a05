"""One fault held against recorded rows, exactly as the reference is: every element's tolerance, every element's cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis.hypothesis import reference
from ln_audit.numerics.judge import Hypothesis as Honest
from ln_audit.numerics.judge import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect
    from ln_audit.numerics.floats import Array, Mask


@dataclass(slots=True)
class Account:
    """What a fault came to under one form of its parameters and one chain. `missed`: elements it does not explain."""

    missed: int = 0
    ratio: float = 0.0


@dataclass(slots=True)
class Trial:
    """A fault and its accounts, batch by batch."""

    fault: Fault
    suspect: Suspect
    elements: int = 0
    accounts: dict[tuple[int, int], Account] = field(default_factory=dict)

    @property
    def explains(self) -> bool:
        """Some form and chain leaves no element unexplained."""
        return self.elements > 0 and self.best.missed == 0

    @property
    def best(self) -> Account:
        """The account that misses least."""
        return min(self.accounts.values(), key=lambda each: (each.missed, each.ratio), default=Account(1))

    def add(self, batch: Batch) -> None:
        """Take rows in."""
        judged = 0
        for key, off, ratio in outcomes(self.fault, self.suspect, batch):
            account = self.accounts.setdefault(key, Account())
            account.missed += int(off.sum())
            measured = ratio[~np.isnan(ratio)]
            account.ratio = max(account.ratio, float(measured.max(initial=0.0)))
            judged = max(judged, measured.size)
        self.elements += judged


def outcomes(fault: Fault, suspect: Suspect, batch: Batch) -> Iterator[tuple[tuple[int, int], Mask, Array]]:
    """For each form and chain: which elements [n, d] the fault does not explain, and the error ratio of each.

    An element that the reference judges and the fault leaves without a number is unexplained, unless NaN was recorded.
    """
    if batch.after is None:
        return
    prediction = fault.predict(batch)
    expected = _judged_by_reference(suspect, batch)
    for form, variant in enumerate(prediction.forms):
        for number, chain in enumerate(suspect.chains):
            held = judge(prediction.prepared, batch.after, Honest(variant, chain), suspect.setting)
            with np.errstate(invalid="ignore"):
                off = held.outside | held.wrong | (held.ratio > 1)
            off |= expected & ~held.judged & ~(np.isnan(held.y) & np.isnan(batch.after))
            yield (form, number), off, held.ratio


def least_off(fault: Fault, suspect: Suspect, batch: Batch) -> tuple[Mask, float]:
    """The elements [n, d] that the fault leaves unexplained under its best form and chain, and the largest error ratio."""
    _, off, ratio = min(outcomes(fault, suspect, batch), key=lambda outcome: int(outcome[1].sum()))
    return off, float(ratio[~np.isnan(ratio)].max(initial=0.0))


def _judged_by_reference(suspect: Suspect, batch: Batch) -> Mask:
    prepared = reference(batch, suspect)
    judged: Mask = prepared.judged & np.isfinite(prepared.z)
    return judged
