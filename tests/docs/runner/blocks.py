"""The fenced blocks of a page, and what each of them asks of the runner.

| block | is |
|---|---|
| `console` | lines with `$ ` are commands, what follows each is its output; `…` stands for any text, alone on a line for any lines |
| `sh` | commands that must pass and say nothing on standard error; README writes them without a language |
| `python` | code that runs, in the page's own names |
| `diff` with a title | a change of that file, by its context |
| any with a title | a file of that name, written into the page's folder |
| `text` | neither a command nor a file: a formula, a layout |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?$")
LANGUAGES = ("", "console", "sh", "python", "toml", "json", "yaml", "diff", "text")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where it begins in the page."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for a failure's message."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command, and the lines that are shown behind it; None where a block shows commands only."""

    words: str
    shown: tuple[str, ...] | None


def blocks(page: Path, name: str) -> list[Block]:
    """The fenced blocks of a page, in order. A fence that is indented, odd or never closed is refused."""
    found: list[Block] = []
    opened: tuple[int, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if opened is None and line.lstrip().startswith("```"):
            fence = _FENCE.match(line)
            assert fence is not None, f'{name}:{number}: expected ```language or ```language title="…", found {line!r}'
            opened, lines = (number, fence[1], fence[2] or ""), []
        elif opened is not None and line == "```":
            found.append(Block(name, *opened, "\n".join(lines) + "\n"))
            opened = None
        elif opened is not None:
            lines.append(line)
    assert opened is None, f"{name}:{opened}: expected the end of the block"
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a `console` or `sh` block. Output before the first command is refused."""
    if block.language != "console":
        return [Command(line, None) for line in block.text.splitlines()]
    made: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            made.append((line[2:], []))
        else:
            assert made, f"{block.place}: expected a line that begins with '$ ', found {line!r}"
            made[-1][1].append(line)
    assert made, f"{block.place}: expected a command"
    return [Command(words, tuple(shown)) for words, shown in made]


def fits(shown: tuple[str, ...], printed: str) -> bool:
    """Whether what a page shows is what was printed."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, printed) is not None
