"""Lines as wide as a terminal, with what does not fit hanging below where its text began."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HANG = "\t"  # where the text of a line begins; no text of a report has one, it is one printable line
_LITERAL = " " * 8  # lines to be copied, and tables, are indented so far and never broken
_LEAST = 60  # columns: narrower than this nothing hangs well


def laid_out(lines: Iterable[str], width: int | None) -> str:
    """The lines, without their marks, ending with one newline; broken at `width` columns, at no width where it is None."""
    return "\n".join(piece for line in lines for piece in _pieces(line, width)).rstrip("\n") + "\n"


def _pieces(line: str, width: int | None) -> Iterator[str]:
    hang = line.find(HANG)
    plain = _no_command(line.replace(HANG, "", 1))
    if width is None or len(plain) <= max(width, _LEAST) or (hang < 0 and plain.startswith(_LITERAL)):
        yield plain
        return
    indent = hang if hang >= 0 else len(plain) - len(plain.lstrip()) + 2
    head, body = plain[:indent], plain[indent:]
    broken = textwrap.wrap(body, max(width, _LEAST) - indent, break_long_words=False, break_on_hyphens=False)
    for at, piece in enumerate(broken or [""]):
        yield f"{head}{piece}" if at == 0 else _no_command(" " * indent + piece)


def _no_command(line: str) -> str:
    """The line, where it would be a command to a runner of GitHub's that reads it in a log, shown and not obeyed."""
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}\\x3a{bare[1:]}" if bare.startswith("::") else line
