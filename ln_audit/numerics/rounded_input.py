"""Was `before` rounded after the norm had read it, without anybody saying so?

A bound that allows for such a rounding is so wide that a wrong epsilon fits into it too. So the deviations must also
look like a rounding of the input: of the size that rounding makes, and without a common direction. An epsilon, a
variance over d − 1 or a scale moves all elements inwards or all outwards; a few wrong gains do not add up to the size.

This decides between "fail" and "incomplete, say --before-rounded" and nothing else: no pass hangs on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.numerics.reference import affine

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array, Format
    from ln_audit.numerics.judge import Judgement, Prepared
    from ln_audit.numerics.parameters import Variant


@dataclass(slots=True)
class RoundingSigns:
    """Sums over a recording: how far elements lie outside their honest interval, and how far rounding moves one."""

    excess: float = 0.0
    outward: float = 0.0
    expected: float = 0.0

    def add(self, block: Judgement, rows: Prepared, x: Array, variant: Variant, rounded: Format) -> None:
        """Take one block in, judged as if x [n, d] were exact."""
        kept = block.judged & np.isfinite(block.recorded)
        with np.errstate(all="ignore"):
            beyond = np.where(kept, np.clip(block.recorded, block.low, block.high), 0.0)
            excess = np.where(kept, block.recorded - beyond, 0.0)  # [n, d], signed
            gz = affine(rows.z, variant.gain, None)
            gain = 1.0 if variant.gain is None else np.abs(variant.gain)
            moved = gain * rows.r * rounded.spacing(x) / 4  # a uniform error of half a spacing is a quarter on average
            self.excess += float(np.abs(excess).sum())
            self.outward += float((excess * np.where(kept, np.sign(gz), 0.0)).sum())
            self.expected += float(np.where(kept, moved, 0.0).sum())

    @property
    def plausible(self) -> bool:
        """Half the expected size or more, and less than seven eighths of it in one direction."""
        return self.excess >= self.expected / 2 and abs(self.outward) <= 0.75 * self.excess
