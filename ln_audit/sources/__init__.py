"""Where bytes come from: `open_source` gives a `Source` for what the user typed.

A new kind of source is one module with `accepts` and `open_source`, and one word in `SOURCES`. None of them imports
anything heavy before it is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import near_names
from ln_audit.sources.file_names import printable
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from ln_audit.core import Source

__all__ = ["SOURCES", "Settings", "SourceModule", "module", "open_source", "source_of"]


class SourceModule(Protocol):
    """What a module of this folder has to have."""

    def accepts(self, spec: str, /) -> bool:
        """Whether the target is written in this source's form. Touches no network."""

    def open_source(self, spec: str, settings: Settings, /) -> Source:
        """The source. Raises `SourceError`, or `UsageError` for settings that make no sense for it."""


# The first that accepts is taken: hence an existing path wins over a Hub name, and `hf://` forces the Hub.
SOURCES: tuple[str, ...] = ("sample", "local", "http", "hub")


def module(source: str) -> SourceModule:
    """The module of a source, imported when it is asked for: a path needs nothing of the network's."""
    return cast("SourceModule", import_module(f"ln_audit.sources.{source}"))


def source_of(spec: str) -> str | None:
    """Which of `SOURCES` a target is for; None where it is written in no known form. Touches no network."""
    return next((source for source in SOURCES if module(source).accepts(spec)), None)


def open_source(spec: str, settings: Settings) -> Source:
    """The source that a target names. Raises `UsageError` for an empty one, `SourceError` for an unknown one."""
    if not spec.strip():
        raise UsageError("target: expected a model's name, path or URL, found an empty word")
    source = source_of(spec)
    if source is not None:
        return module(source).open_source(spec, settings)
    written = "a model on the Hub is written org/name, org/name@revision (a / in a revision as %2F) or hf://org/name"
    path = "://" not in spec and ("/" in spec or "." in spec)  # with a file's suffix, or with more than one /
    raise SourceError(
        f"{printable(spec)}: expected a file, a folder or a model's name, found no such file or folder",
        hint=near_names.hint(spec) if path else written,
    )
