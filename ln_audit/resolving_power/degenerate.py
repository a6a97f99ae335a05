"""Recordings whose rows show next to nothing, named as what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.resolving_power.sample import Sample


def degenerate(rows: Sample) -> Iterator[str]:
    """What is wrong with them, most serious first; nothing where the rows are ordinary."""
    x = rows.before
    among = "" if rows.whole else f" of {rows.positions:,} looked at"
    if rows.recorded == 1:
        yield "a single position"
    if not x.any():
        yield f"every row{among} is all zero"
    elif rows.width > 1 and (x == x[:, :1]).all():
        yield f"every row{among} is constant"
    distinct = len({row.tobytes() for row in np.ascontiguousarray(x)})
    if rows.positions > 1 and distinct == 1:
        yield f"every row{among} is the same"
    elif distinct < rows.positions:
        yield f"{rows.positions - distinct:,} of {rows.positions:,} rows repeat another"
