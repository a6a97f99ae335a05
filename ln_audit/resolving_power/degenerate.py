"""Recordings whose rows show next to nothing, named as what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.comparison import OUTPUT_IS_BIAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.resolving_power.sample import Sample


def degenerate(rows: Sample, kind: str) -> Iterator[str]:
    """What is wrong with them for a norm of this kind, most serious first; nothing where the rows are ordinary."""
    x = rows.before
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
