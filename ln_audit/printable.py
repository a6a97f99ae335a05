"""Foreign text made harmless: names and messages from files and servers are not ours to obey."""

from __future__ import annotations

_LONGEST = 300  # characters of an error that is not ours


def one_line(text: str) -> str:
    """The text on one line and without control characters, escapes or half surrogates: they are shown, not obeyed."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


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
