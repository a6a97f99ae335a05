"""What callers of the library hand over, held to its type in one place: `name: expected a number, found '1e-5'`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from operator import index
from typing import TYPE_CHECKING, Any, cast

from ln_audit.errors import UsageError
from ln_audit.formats.shown import shown
from ln_audit.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAULTS = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RuntimeError,
)  # of a foreign object's own methods


def word(name: str, value: object) -> str:
    """A word or a path as a string. Raises `UsageError` for anything else, bytes among it, and for what no file can be called."""
    try:
        found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
        os.fsencode(found or "")  # half of a pair of surrogates has no bytes
    except FAULTS:
        found = None
    if not isinstance(found, str):
        raise wrong(name, "a word or a path", value)
    return found


def words(name: str, value: object) -> tuple[str, ...]:
    """One word or path, or several in whatever can be walked through once. Raises `UsageError`."""
    if isinstance(value, (str, os.PathLike)):
        return (word(name, value),)
    try:
        several = None if isinstance(value, (bytes, bytearray, memoryview, Mapping)) else tuple(cast("Any", value))
    except FAULTS:
        several = None
    if several is None:
        raise wrong(name, "a word or a path, or a list of them", value)
    return tuple(word(name, each) for each in several)


def recordings(name: str, value: object) -> tuple[str, ...]:
    """One recording or several; a pattern that matched no file holds nothing to anything. Raises `UsageError`."""
    found = words(name, value)
    if not found:
        raise UsageError(
            f"{name}: expected at least one recording, found none", hint="leave it out where there is none"
        )
    return found


def switch(name: str, value: object) -> bool:
    """True or False, and nothing that Python takes for one of them: `"no"` is true. Raises `UsageError`."""
    if not isinstance(value, bool):
        raise wrong(name, "a switch", value)
    return value


def number(name: str, value: object) -> float:
    """A finite number; also a NumPy scalar or a tensor of one element. Raises `UsageError`."""
    plain: Any = value
    try:
        plain = plain.item() if hasattr(plain, "item") else plain
        found = float(plain) if isinstance(plain, (int, float)) and not isinstance(plain, bool) else None
    except FAULTS:
        found = None
    if found is None or not isfinite(found):
        raise wrong(name, "a number" if found is None else "a finite number", value)
    return found


def epsilon(name: str, value: object) -> float:
    """A finite number that is not below 0, as a norm may have. Raises `UsageError`."""
    found = number(name, value)
    if found < 0:
        raise wrong(name, "a number not below 0", value)
    return found


def whole_number(name: str, value: object) -> int:
    """A whole number, also one of NumPy's. Raises `UsageError`."""
    try:
        found = None if isinstance(value, bool) else index(cast("Any", value))
    except FAULTS:
        found = None
    if found is None:
        raise wrong(name, "a whole number", value)
    return found


def choice(name: str, value: object, known: Sequence[str], otherwise: str = "") -> str:
    """One of a few words. Raises `UsageError`, whose hint is the word that is near, else `otherwise`."""
    if not isinstance(value, str) or value not in known:
        *others, last = known
        hint = did_you_mean(value, known, otherwise) if isinstance(value, str) else otherwise
        raise wrong(name, f"{', '.join(others)} or {last}", value, hint)
    return value


def told(name: str, value: object) -> dict[str, str]:
    """Words by words, as metadata holds them. Raises `UsageError`."""
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for pair in value.items() for each in pair):
        raise wrong(name, "words by words, a mapping", value)
    return dict(value)


def wrong(name: str, expected: str, value: object, hint: str = "") -> UsageError:
    """The error for an argument that is something else."""
    return UsageError(f"{name}: expected {expected}, found {shown(value)}", hint=hint)


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    **dict.fromkeys(("strict", "offline", "full", "pictures"), switch),
    **dict.fromkeys(("eps", "offset"), number),
    "recording": recordings,
    "require": words,
}


def options(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of `verify` by their names, as the command line would have made them; None is one that was not given.

    Raises `UsageError`.
    """
    return {name: _READERS.get(name, word)(name, value) for name, value in given.items() if value is not None}
