"""What the command line asks to be run, checked before anything is opened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.errors import UsageError
from ln_audit.record.recipe import DTYPES, LEAST, Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence


def recipe(given: Recipe, random: str | None, *, least: int | None = None) -> Recipe:
    """What a model is to be run on: exactly one of text, tokens and random, or `least` random tokens where none is said.

    Raises `UsageError`.
    """
    count = _count(random)
    alone = {"--text": given.text, "--tokens": given.tokens, "--random": random}
    said = [name for name, value in alone.items() if value is not None]
    if len(said) != 1 and (said or least is None):
        found = " and ".join(said) or "none"
        hint = "" if said else "for example --random 64"
        raise UsageError(f"--text, --tokens and --random: expected one of them, found {found}", hint=hint)
    if given.dtype is not None and given.dtype not in DTYPES:
        raise UsageError(f"--dtype: expected one of {', '.join(DTYPES)}, found {given.dtype!r}")
    if given.norms and given.all_norms:
        raise UsageError("--norm and --all-norms: expected one of them, found both")
    return replace(given, random=least if not said else count)


def to_record(record: bool, given: Recipe, random: str | None, targets: Sequence[object] | None) -> Recipe | None:
    """What `verify --record` runs; None without --record. Raises `UsageError` for what belongs to it and stands alone."""
    alone = {"--text": given.text, "--random": random, "--dtype": given.dtype, "--device": given.device}
    said = next((option for option, value in alone.items() if value is not None), None)
    if not record and said is not None:
        raise UsageError(f"{said}: expected --record, which it belongs to, found none")
    if record and not targets:
        raise UsageError("--record: expected a target to run, found none")
    return recipe(given, random, least=LEAST) if record else None


def _count(random: str | None) -> int | None:
    if random is None:
        return None
    if not (random.isascii() and random.isdigit() and 0 < len(random) <= 15 and int(random) > 0):
        raise UsageError(f"--random: expected a whole number of tokens above 0, found {random!r}")
    return int(random)
