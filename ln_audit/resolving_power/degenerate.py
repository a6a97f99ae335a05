"""Recordings that show next to nothing, by their rows or by the norm's own gain, named as what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.comparison import GAIN_IS_ZERO, OUTPUT_IS_BIAS
from ln_audit.numerics.parameters import effective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.resolving_power.sample import Sample


def degenerate(rows: Sample, parameters: NormParameters) -> Iterator[str]:
    """What is wrong with them for this norm, most serious first; nothing where the rows are ordinary."""
    x, kind, gain = rows.before, parameters.kind, parameters.gain
    if gain is not None and not effective(gain, parameters.weight_offset).any():
        yield f"every gain is 0: {GAIN_IS_ZERO}"
    among = "" if rows.whole else f" of {rows.positions:,} looked at"
    if rows.recorded == 1:
        yield "a single position"
    if not x.any():
        yield f"every row{among} is all zero: {OUTPUT_IS_BIAS}"
    elif (rows.width > 1 or kind == "layer_norm") and (x == x[:, :1]).all():
        ends = f": {OUTPUT_IS_BIAS}" if kind == "layer_norm" else ""  # an RMSNorm takes no mean away
        yield f"every row{among} is constant{ends}"
    distinct = len({row.tobytes() for row in np.ascontiguousarray(x)})
    if rows.positions > 1 and distinct == 1:
        yield f"every row{among} is the same"
    elif distinct < rows.positions:
        yield f"{rows.positions - distinct:,} of {rows.positions:,} rows repeat another"
