"""How small a change of one gain or bias would still have been seen, channel by channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics.judge import prepare
from ln_audit.numerics.reference import affine
from ln_audit.resolving_power.bounds import bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.diagnosis.hypothesis import Suspect
    from ln_audit.numerics.floats import Array, Format
    from ln_audit.resolving_power.bounds import Bounds
    from ln_audit.resolving_power.distance import Way


class Smallest(NamedTuple):
    """Relative changes [d] of each gain or bias from which on a run fails; infinite where none would be seen, NaN where
    the parameter is 0 and no change is a relative one.
    """

    parameter: str
    relative: Array

    @property
    def weakest(self) -> int | None:
        """The channel of which least is seen; None where every parameter is 0."""
        known = ~np.isnan(self.relative)
        return int(np.where(known, self.relative, -1.0).argmax()) if known.any() else None

    @property
    def strongest(self) -> int | None:
        """The channel of which most is seen."""
        known = ~np.isnan(self.relative)
        return int(np.where(known, self.relative, np.inf).argmin()) if known.any() else None

    @property
    def unseen(self) -> int:
        """In how many channels no change would have been seen."""
        return int(np.isinf(self.relative).sum())


def smallest_changes(before: Array, suspect: Suspect, own: Way, allowed: Sequence[Way]) -> tuple[Smallest, ...]:
    """For gain and bias, where the norm has them, on the rows `before` [n, d] of a run that went the way `own`.

    A change is seen where it moves one recorded element out of what every way `allowed` permits there; in the row that
    shows it best, and in whichever direction shows it less.
    """
    setting = suspect.setting
    rows = prepare(before, setting)
    with np.errstate(all="ignore"):
        z = setting.output.round(rows.z) if own.chain is not None and own.chain.early else rows.z
        run = affine(z, own.form.gain, own.form.bias)  # [n, d], before it is stored
        gaps = [
            _gaps(run, bounds(rows, way.form, way.chain, setting), setting.output, narrow=way.chain is not None)
            for way in allowed
        ]
        gain, bias = own.form.gain, own.form.bias
        found = []
        if gain is not None:
            found.append(Smallest("gain", _relative(gain, gain * z, gaps)))
        if bias is not None:
            found.append(Smallest("bias", _relative(bias, np.broadcast_to(bias, z.shape), gaps)))
    return tuple(found)


def _gaps(run: Array, allowed: Bounds, output: Format, *, narrow: bool) -> tuple[Array, Array]:
    """How far each element may still move up and down; infinite where it is not judged.

    Where results are stored narrow, up to the middle between the last allowed number and the next.
    """
    half = output.spacing(allowed.high) / 2, output.spacing(allowed.low) / 2
    high, low = (allowed.high + half[0], allowed.low - half[1]) if narrow else (allowed.high, allowed.low)
    up, down = high - run, run - low
    return np.where(allowed.judged, up, np.inf), np.where(allowed.judged, down, np.inf)


def _relative(parameter: Array, moves: Array, gaps: Sequence[tuple[Array, Array]]) -> Array:
    """The change [d] of a parameter that moves an element by `moves` [n, d] for each whole of it."""
    rising = moves > 0
    worst = np.zeros_like(parameter)
    for up, down in gaps:
        more = np.min(np.where(rising, up, down) / np.abs(moves), axis=0)  # [n, d] -> [d]
        less = np.min(np.where(rising, down, up) / np.abs(moves), axis=0)
        worst = np.maximum(worst, np.maximum(more, less))
    worst = np.where(np.isnan(worst), np.inf, worst)  # 0/0: nothing moves, and nothing may
    return np.where(parameter == 0, np.nan, worst)
