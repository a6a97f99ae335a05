"""How far a fault lies from every honest run on the same rows, and whether each of its own runs would have failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics.judge import prepare
from ln_audit.resolving_power.bounds import Bounds, bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.diagnosis.hypothesis import Batch, Fault, Suspect
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Mask
    from ln_audit.numerics.parameters import Variant


class Way(NamedTuple):
    """One honest way to use the parameters and to round."""

    form: Variant
    chain: Chain | None


class Stage(NamedTuple):
    """Some rows, and what each way would have been allowed to store for them."""

    batch: Batch
    allowed: tuple[Bounds, ...]


@dataclass(slots=True)
class Distance:
    """A fault against the rows looked at so far: `ratio` is the largest |fault − y| / e, `cells` the elements apart.

    `hidden`: pairs of a way of the fault and an honest way by which a run of the fault might still have passed.
    """

    ratio: float = 0.0
    cells: int = 0
    hidden: set[tuple[int, int]] | None = None
    counts: dict[int, int] = field(default_factory=dict)

    @property
    def told(self) -> bool:
        """No run of the fault can have passed, whatever it used and however it rounded within its own bound."""
        return self.hidden is not None and not self.hidden


def stage(batch: Batch, suspect: Suspect, ways: Sequence[Way]) -> Stage:
    """The honest side of some rows."""
    rows = prepare(batch.before, suspect.setting)
    return Stage(batch, tuple(bounds(rows, way.form, way.chain, suspect.setting) for way in ways))


def measure(
    fault: Fault, stages: Sequence[Stage], suspect: Suspect, chains: Sequence[Chain | None], own: int
) -> Distance:
    """The fault's distance from the way `own`; it stops at the rows by which it is told.

    `chains` are those that the recorded run may have rounded by: the fault would have been in that same run.
    """
    found = Distance()
    for each in stages:
        _add(found, fault, each, suspect, chains, own)
        if found.told:
            break
    return found


def _add(
    found: Distance, fault: Fault, rows: Stage, suspect: Suspect, chains: Sequence[Chain | None], own: int
) -> None:
    prediction = fault.predict(rows.batch)
    pairs = [(form, chain) for form in prediction.forms for chain in chains]
    if found.hidden is None:
        found.hidden = {(one, other) for one in range(len(pairs)) for other in range(len(rows.allowed))}
    ratios = []
    for number, (form, chain) in enumerate(pairs):
        faulty = bounds(prediction.prepared, form, chain, suspect.setting)
        ratios.append(_ratio(faulty, rows.allowed[own]))
        for other, honest in enumerate(rows.allowed):
            apart = int(_apart(faulty, honest).sum())
            if apart:
                found.hidden.discard((number, other))
            if other == own:
                found.counts[number] = found.counts.get(number, 0) + apart
    found.ratio = max(found.ratio, min(ratios))
    found.cells = min(found.counts.values())


def _apart(faulty: Bounds, honest: Bounds) -> Mask:
    """Elements for which no number is allowed to both, or for which the fault has none.

    What the reference cannot judge says nothing. A fault is bounded even where that is none of its first order, as with
    squares that overflow: its bound is wide there, or it stores exactly the bias.
    """
    bounded = np.isfinite(faulty.y) & np.isfinite(faulty.e)
    disjoint = bounded & ((faulty.low > honest.high) | (faulty.high < honest.low))
    reached = np.isinf(faulty.y) & ~(np.isfinite(honest.low) & np.isfinite(honest.high))  # infinite rightly
    return honest.judged & (disjoint | (~np.isfinite(faulty.y) & ~reached))


def _ratio(faulty: Bounds, honest: Bounds) -> float:
    with np.errstate(all="ignore"):
        ratio = np.abs(faulty.y - honest.y) / honest.e
    if not honest.judged.any():
        return 0.0
    return float(np.where(np.isnan(ratio), np.inf, ratio)[honest.judged].max())
