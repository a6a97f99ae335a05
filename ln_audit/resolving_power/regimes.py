"""Why a fault does not show: these rows hide it, it strikes only rows of another kind, or it is none for this norm.

A gain left out where every gain is 1 computes the same function, whatever the rows: nothing is missing. A sum of squares
that overflows in float16 is right on every ordinary row: such a run was right, and what it does on huge rows is another
question. Which it is is found out on made rows, ordinary ones of many scales and a few extreme ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from ln_audit.diagnosis.hypothesis import Batch
from ln_audit.numerics.reference import affine
from ln_audit.resolving_power.distance import Stage, Way, measure, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.diagnosis.hypothesis import Fault, Suspect
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array

Regime = Literal["these rows", "large rows", "none"]

ORDINARY = ((0.0, 1e-5), (3e-4, 1e-3), (-0.02, 0.05), (0.3, 1.0), (-2.0, 10.0))  # mean and deviation of each row
EXTREME = ((100.0, 5000.0), (1000.0, 1.0))  # huge; of a mean far above its deviation
SAME = 1e-12  # of a row's largest value: some thousand roundings of float64, and far below any fault


@dataclass(frozen=True)
class Regimes:
    """Made rows of both kinds for a norm's width, with their honest side. Only a fault that does not show asks for them.

    `chains` and `own` are those of `distance.measure`.
    """

    suspect: Suspect
    ways: Sequence[Way]
    chains: Sequence[Chain | None]
    own: int

    @cached_property
    def ordinary(self) -> Stage:
        """Rows that every norm must be able to do."""
        return stage(_made(self.suspect.rows.width, ORDINARY), self.suspect, self.ways)

    @cached_property
    def extreme(self) -> Stage:
        """Rows that careless arithmetic fails on."""
        return stage(_made(self.suspect.rows.width, EXTREME), self.suspect, self.ways)

    def of(self, fault: Fault) -> Regime:
        """For a fault that a recording cannot tell: `these rows` hide it, it strikes `large rows` only, or it is `none`."""
        if self._told(fault, self.ordinary):
            return "these rows"
        if all(_same(fault, rows) for rows in (self.ordinary, self.extreme)):
            return "none"
        return "large rows" if self._told(fault, self.extreme) else "these rows"

    def _told(self, fault: Fault, rows: Stage) -> bool:
        return measure(fault, [rows], self.suspect, self.chains, self.own).told


def _same(fault: Fault, rows: Stage) -> bool:
    """Whether each form of the fault computes on these rows what some honest way computes."""
    prediction = fault.predict(rows.batch)
    with np.errstate(all="ignore"):
        honest = [allowed.y for allowed in rows.allowed]
        faulty = [affine(prediction.prepared.z, form.gain, form.bias) for form in prediction.forms]
    return all(any(_equal(one, other) for other in honest) for one in faulty)


def _equal(one: Array, other: Array) -> bool:
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(other), axis=1, keepdims=True, initial=0.0, where=np.isfinite(other))
        near = np.abs(one - other) <= SAME * largest
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def _made(width: int, rows: Sequence[tuple[float, float]]) -> Batch:
    """Rows [n, width] that look random and are the same each time: a sine at the squares of the channels' numbers."""
    channel = np.arange(1, width + 1, dtype=np.float64)
    wave = [np.sqrt(2.0) * np.sin(channel * channel * (0.7 + 0.1 * row)) for row in range(len(rows))]
    x = [mean + deviation * each for (mean, deviation), each in zip(rows, wave, strict=True)]
    return Batch(np.zeros(len(rows), dtype=np.int64), np.stack(x))
