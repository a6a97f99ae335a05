"""What a terminal is shown: how wide it is, its colours, and a readable word for each of our characters that it lacks."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping

# Green, red and magenta are legible on a light and on a dark ground; yellow, white and faint text are not on both.
_COLOURS = {"PASS": "32", "FAIL": "31", "INCOMPLETE": "35", "ERROR": "31", "✗": "31", "!": "35", "✓": "32"}
_PLAIN: Mapping[str, str] = {
    "✓": "+", "✗": "x", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "…": "...", "→": "->", "│": "|", "±": "+-",
    "≤": "<=", "≥": ">=", "≈": "~", "√": "sqrt", "²": "^2", "σ": "sigma", "μ": "mu", "ε": "eps", "γ": "gamma", "β": "beta",
    "Σ": "sum", "½": "1/2", " ": " ",
    **dict(zip("▁▂▃▄▅▆▇█", ".:-=+*%#", strict=True)), **dict.fromkeys("▏▎▍▌▋▊▉", "#"),
}  # fmt: skip
_READABLE = "ln_audit.readable"
_DUMB = ("dumb", "unknown")


def on_terminal(stream: TextIO | None) -> bool:
    """Whether a person is looking."""
    return stream is not None and stream.isatty()


def obeys_escapes(stream: TextIO | None) -> bool:
    """Whether a person is looking at a terminal that can do more than print: colour, and writing a line anew."""
    return on_terminal(stream) and os.environ.get("TERM", "") not in _DUMB


def shows_colour(stream: TextIO | None) -> bool:
    """The same, where nobody asked for no colour (https://no-color.org)."""
    return obeys_escapes(stream) and not os.environ.get("NO_COLOR")


def width(stream: TextIO | None) -> int | None:
    """The terminal's columns; None where nobody looks: there each item stays one line."""
    if not on_terminal(stream):
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def coloured(text: str) -> str:
    """The text with its verdicts and marks in colour; the words say the same without."""
    lines = []
    for line in text.splitlines(keepends=True):
        word = next((word for word in _COLOURS if line.lstrip().startswith(word)), None)
        lines.append(line if word is None else line.replace(word, f"\x1b[{_COLOURS[word]}m{word}\x1b[0m", 1))
    return "".join(lines)


def encoded(text: str, encoding: str | None) -> bytes:
    """The text in a terminal's encoding, with what that lacks in ASCII: ✓ as +, a histogram's blocks as .:-=+*%#."""
    return text.encode(encoding or "utf-8", _READABLE)


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char, ascii(char)[1:-1]) for char in lacking), error.end


codecs.register_error(_READABLE, _readable)
