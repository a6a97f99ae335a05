"""The command that reproduces a run: its words as they were typed, the Hub's targets pinned to the commit that was read."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ln_audit.printable import short, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.reports.document import Run

_WRITTEN = frozenset({"--format", "--output", "-o"})  # how it was written, which says nothing of what was found
_SHOWN = frozenset({"--quiet", "--verbose", "--no-color"})


def reproducing(run: Run) -> str:
    """One line for a shell; empty where no target was read. Passwords and signatures of URLs are left out."""
    words = list(run.command) or ["verify", *dict.fromkeys(report.source.spec for report in run.reports)]
    if not run.reports or len(words) < 2:
        return ""
    pinned = {
        without_secrets(report.source.spec): f"{report.source.spec}@{report.source.revision}"
        for report in run.reports
        if report.source.kind == "hub" and report.source.revision and _plain(report.source.spec)
    }
    kept = _without(words, _WRITTEN | {"--revision"} if pinned else _WRITTEN)
    told = (pinned.get(word, word) for word in map(_public, kept))
    return short(shlex.join(["ln-audit", *told]), 4_000)


def _plain(spec: str) -> bool:
    """A Hub target that names no revision and no file."""
    return "@" not in spec and "://" not in spec


def _without(words: list[str], options: frozenset[str]) -> Iterator[str]:
    """The words without options that take a value, and without switches that only change what is shown."""
    remaining = iter(words)
    for word in remaining:
        if word in options:
            next(remaining, None)
        elif word.partition("=")[0] not in options and word not in _SHOWN:
            yield word


def _public(word: str) -> str:
    option, equals, value = word.partition("=")
    return f"{option}={without_secrets(value)}" if equals and option.startswith("-") else without_secrets(word)
