"""Which norm of one artifact is which of another, or of a lockfile: by its stack, the family's own name, and which of that name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.core import Norm

Key = tuple[str | None, str, int]


def keyed(norms: Iterable[Norm]) -> dict[Key, Norm]:
    """The norms by what every container of their model has them under.

    Two models inside one may have norms of the same name in the same kind of stack; they are counted in the family's order.
    """
    seen: Counter[tuple[str | None, str]] = Counter()
    found: dict[Key, Norm] = {}
    for norm in norms:
        name = one_line(norm.promised or norm.name)
        seen[norm.stack, name] += 1
        found[norm.stack, name, seen[norm.stack, name]] = norm
    return found
