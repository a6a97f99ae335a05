"""Foreign text in Markdown, and tables whose rows it cannot break."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from ln_audit.printable import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIPE = "\\x7c"  # renderers differ in how one is escaped inside a cell, so none is written
_MOST_TICKS = 3  # in a row; code spans around more of them are beyond some renderers


class Align(Enum):
    """How a column is aligned, as the line below a table's head says it."""

    LEFT = "---"
    RIGHT = "---:"


def code(text: str) -> str:
    """The text as a code span that nothing in it can end: no link, image, mention, HTML or new cell comes of it."""
    told = short(text).replace("|", _PIPE).strip()
    longest = max(map(len, re.findall("`+", told)), default=0)
    if longest > _MOST_TICKS:
        told, longest = told.replace("`", "\\x60"), 0
    fence, pad = "`" * (longest + 1), " " * (longest > 0)
    return f"{fence}{pad}{told}{pad}{fence}" if told else "–"


def table(head: Sequence[str], cells: Sequence[Sequence[str]], align: Sequence[Align] = ()) -> Iterator[str]:
    """The lines of a table and an empty one after it; nothing for no rows. The cells are Markdown of ours, or from `code`."""
    if not cells:
        return
    aligned = [*align, *(Align.LEFT for _ in head[len(align) :])]
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(each.value for each in aligned)} |"
    yield from (f"| {' | '.join(row)} |" for row in cells)
    yield ""
