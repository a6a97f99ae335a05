"""Where bytes come from: `open_source` gives a `Source` for what the user typed.

A new kind of source is one module with `accepts` and `open_source`, and one line in `SOURCES`. None of them imports
anything heavy before it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import http, hub, local, near_names, sample
from ln_audit.sources.file_names import printable
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from ln_audit.core import Source

__all__ = ["SOURCES", "Settings", "SourceModule", "open_source", "source_of"]


class SourceModule(Protocol):
    """What a module of this folder has to have."""

    def accepts(self, spec: str, /) -> bool:
        """Whether the target is written in this source's form. Touches no network."""

    def open_source(self, spec: str, settings: Settings, /) -> Source:
        """The source. Raises `SourceError`, or `UsageError` for settings that make no sense for it."""


# The first that accepts is taken: hence an existing path wins over a Hub name, and `hf://` forces the Hub.
SOURCES: tuple[SourceModule, ...] = (sample, local, http, hub)


def source_of(spec: str) -> SourceModule | None:
    """The module that a target is for; None where it is written in no known form. Touches no network."""
    return next((module for module in SOURCES if module.accepts(spec)), None)


def open_source(spec: str, settings: Settings) -> Source:
    """The source that a target names. Raises `UsageError` for an empty one, `SourceError` for an unknown one."""
    if not spec.strip():
        raise UsageError("target: expected a model's name, path or URL, found an empty word")
    module = source_of(spec)
    if module is not None:
        return module.open_source(spec, settings)
    written = "a model on the Hub is written org/name, org/name@revision (a / in a revision as %2F) or hf://org/name"
    path = "://" not in spec and ("/" in spec or "." in spec)  # with a file's suffix, or with more than one /
    raise SourceError(
        f"{printable(spec)}: expected a file, a folder or a model's name, found no such file or folder",
        hint=near_names.hint(spec) if path else written,
    )
