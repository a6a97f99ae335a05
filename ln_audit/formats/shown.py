"""Values from a file as a message may show them."""

from reprlib import Repr

# Hostile names are megabytes long and hostile arrays a thousand deep: repr itself would fail on those.
_REPR = Repr()
_REPR.maxlevel, _REPR.maxlist, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 2, 8, 4, 80, 80


def shown(value: object) -> str:
    """One line, ASCII, short."""
    return _REPR.repr(value).encode("ascii", "backslashreplace").decode()
