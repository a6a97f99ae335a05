"""Under which config keys a norm is there at all, and beside which tensors where only some layers have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import shrink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .patterns import Indexes, Pattern, Patterns
    from .variations import Variation

_CROSS = ("encoder_attn", "cross_attn", "crossattention", "enc_attn", "multihead_attn", "encoder_decoder", "xattn")


@dataclass(frozen=True)
class When:
    """One condition, as a table writes it."""

    key: str
    op: str
    value: Any = None


def conditions(variations: Sequence[Variation], there: Sequence[bool], ignored: set[str]) -> tuple[When, ...]:
    """For a norm that the base has. `there`: whether each variation has it as well; keys that shape it are ignored."""
    found: list[When] = []
    by_key: dict[str, list[tuple[Any, Any, bool]]] = {}
    for each, present in zip(variations, there, strict=True):
        shaping = each.key in ignored and each.value is not None
        deep = each.key.rpartition(".")[2] in shrink.layer_keys()
        if not shaping and not deep and not isinstance(each.value, (list, tuple)):
            by_key.setdefault(each.key, []).append((each.before, each.value, present))
    for key, rows in by_key.items():
        if not all(present for _, _, present in rows):
            when = _condition(key, rows[0][0], rows)
            if when is not None:
                found.append(when)
    return tuple(found)


def nulled(variations: Sequence[Variation], there: Sequence[bool]) -> set[int]:
    """The surveys (the base is 0) in which a key that is null takes the norm away.

    A table cannot tell null from an absent key; the tensors beside the norm can.
    """
    pairs = enumerate(zip(variations, there, strict=True), 1)
    return {at for at, (each, present) in pairs if each.value is None and not present}


def _condition(key: str, base: Any, rows: list[tuple[Any, Any, bool]]) -> When | None:
    lost = [value for _, value, present in rows if not present]
    kept = [base, *(value for _, value, present in rows if present)]
    if all(not value for value in lost) and all(kept):
        return When(key, "truthy")
    if not any(kept):  # there only where the key is off
        return When(key, "missing") if base is None else When(key, "eq", base)
    if isinstance(base, str):
        return When(key, "in", kept) if len(kept) > 1 else When(key, "eq", base)
    if len(kept) == 1 and isinstance(base, int):
        return When(key, "eq", base)
    if len(lost) == 1:
        return When(key, "ne", lost[0])
    return None


def enabling(variation: Variation) -> When:
    """For a norm that the base does not have and this variation has."""
    if variation.value is None:
        return When(variation.key, "missing")
    if variation.value is False or variation.value == 0:
        return When(variation.key, "eq", variation.value)
    if isinstance(variation.value, str):
        return When(variation.key, "eq", variation.value)
    return When(variation.key, "truthy")


def beside(
    patterns: Patterns, pattern: Pattern, there: Sequence[set[Indexes]], without: set[int], *, outside: bool
) -> str | None:
    """What stands beside a norm that not every layer has, every model builds or every count tells; None: it needs none.

    `there`: per survey, the indexes under which the norm is. `without`: surveys where what stands beside it must be gone as
    well. `outside`: it belongs to a head.
    """
    parents = pattern.parents()
    uncounted = any(parent not in patterns.keys for parent in parents)
    uneven = any(
        found and found != full for found, full in zip(there, _everywhere(patterns, pattern), strict=True) if parents
    )
    crossing = any(token is not None and token.startswith(_CROSS) for token in pattern.tokens)
    if not (uncounted or uneven or crossing or outside or without):
        return None
    own = [_own_names(patterns, at, pattern) for at in range(len(patterns.surveys))]
    lowest = max((i for i, token in enumerate(pattern.tokens) if token is None), default=-1) + 1
    for prefix in _prefixes(patterns, pattern, max(lowest, 1)):
        places = [patterns.places(at, prefix, own[at]) for at in range(len(patterns.surveys))]
        alike = [
            found == norm or not (norm or at in without)
            for at, (found, norm) in enumerate(zip(places, there, strict=True))
        ]
        if all(alike) and any(places):
            return ".".join("*" if token is None else token for token in prefix) + "."
    return ".".join("*" if token is None else token for token in pattern.tokens) + "."


def _everywhere(patterns: Patterns, pattern: Pattern) -> list[set[Indexes]]:
    """Per survey, every index that the innermost list of the pattern has."""
    last = max((i for i, token in enumerate(pattern.tokens) if token is None), default=-1)
    return [patterns.places(at, pattern.tokens[: last + 1]) for at in range(len(patterns.surveys))]


def _own_names(patterns: Patterns, at: int, pattern: Pattern) -> set[str]:
    found = set()
    for name in patterns.surveys[at].tensors:
        if patterns.split(name.rpartition(".")[0])[0] == pattern:
            found.add(name)
    return found


def _prefixes(patterns: Patterns, pattern: Pattern, lowest: int) -> list[tuple[str | None, ...]]:
    """Modules around the norm, innermost first, then its neighbours: the one that shares its name's beginning first."""
    around = [pattern.tokens[:i] for i in range(len(pattern.tokens) - 1, lowest - 1, -1)]
    siblings: dict[tuple[str | None, ...], None] = {}
    for survey in patterns.surveys:
        for name in survey.tensors:
            theirs = patterns.split(name)[0].tokens
            for i in range(lowest + 1, len(theirs)):
                if theirs[:lowest] == pattern.tokens[:lowest] and theirs[:i] != pattern.tokens[:i]:
                    siblings[theirs[:i]] = None
    last = pattern.tokens[-1] or ""
    ordered = sorted(siblings, key=lambda t: (not (t[-1] and last.startswith(f"{t[-1]}_")), len(t)))
    named = [t for t in ordered if t[-1] and last.startswith(f"{t[-1]}_")]
    return named + around + [t for t in ordered if t not in named]
