"""The lockfile: what a reviewed model's norms are, so that every later artifact of it can be held to that, whatever its form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ln_audit.demand import Demand


def with_lock(demand: Demand) -> Demand:
    """The demand with what its lockfile holds, read once. Raises `UsageError`."""
    if demand.lock is None or demand.locked is not None:
        return demand
    from ln_audit.lock.reading import read

    return replace(demand, locked=read(demand.lock))
