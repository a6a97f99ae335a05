"""TOML that a stranger may have written: `tomllib`, but nothing that keeps it busy for seconds or ends its stack."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_WORDS = 17  # of a dotted key; tomllib takes the square of their number
LONGEST_WORD = 1_000  # characters of a key or number that is not quoted; Python refuses to print much longer numbers

# What may hold any character: strings of four kinds, and comments. Every branch ends wherever the text does, so that no part
# of it is looked at twice.
OPAQUE = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+["\\]?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_BETWEEN = re.compile(r"[\n,=\[\]{}]")


class TomlError(ValueError):
    """Text that is no TOML, or TOML that nobody writes by hand."""


def loads(text: str) -> dict[str, Any]:
    """The table that a text holds. Raises `TomlError`; never takes longer than the length of the text explains."""
    for word in _words(text):
        if len(word) > LONGEST_WORD or word.count(".") >= MOST_WORDS:
            found = f"{word[:40]}…"
            raise TomlError(
                f"expected keys of at most {MOST_WORDS} words and {LONGEST_WORD:,} characters, found {found!r}"
            )
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("expected a few levels of nesting, found hundreds") from error
    except ValueError as error:  # its own, and Python's for numbers and dates that are none
        raise TomlError(str(error)) from error


def _words(text: str) -> Iterator[str]:
    """Everything that is no string and no comment: bare keys, dotted ones whole, numbers."""
    return (word.strip() for word in _BETWEEN.split(OPAQUE.sub("s", text)))
