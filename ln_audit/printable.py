"""Foreign text made harmless: names and messages from files and servers are not ours to obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 300  # characters of an error that is not ours
_COMMAND, _SHOWN = "##[", "#\\x23["  # what a runner of GitHub or Azure obeys wherever it stands in a line of a log


def one_line(text: str) -> str:
    """The text on one line and without control characters, escapes or half surrogates: they are shown, not obeyed."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text.replace(_COMMAND, _SHOWN)


def short(text: str, at_most: int = 2_000) -> str:
    """The same, and at most so many characters of it: a hostile name has megabytes."""
    told = one_line(text[: at_most + 1])
    return told if len(told) <= at_most else f"{told[: at_most - 1]}…"


def first_line(error: BaseException) -> str:
    """What a foreign library says of its error, as far as one line goes; its class where it says nothing."""
    told = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return one_line(told.strip())[:_LONGEST]


def without_secrets(spec: str) -> str:
    """A target as reports may show it: a URL's password and query are secrets (signed links), the rest is kept."""
    scheme, separator, rest = spec.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        return spec
    bare = rest.partition("#")[0].partition("?")[0]
    host, slash, path = bare.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`did you mean sarif?`, where something known is close to a word; else what else there is to say."""
    from difflib import get_close_matches

    as_written = {each.lower(): each for each in known}
    near = [as_written[each] for each in get_close_matches(word[:_LONGEST].lower(), as_written, n=2)]
    return f"did you mean {' or '.join(near)}?" if near else otherwise
