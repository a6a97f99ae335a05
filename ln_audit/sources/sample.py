"""The small model that ships inside the package, with its recording; needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.errors import UsageError
from ln_audit.sources.local import LocalSource

if TYPE_CHECKING:
    from ln_audit.sources.settings import Settings

_FOLDER = Path(__file__).parent.parent / "assets" / "sample"


def accepts(spec: str) -> bool:
    """The one word `sample`; a folder of that name is `./sample`."""
    return spec == "sample"


def open_source(spec: str, settings: Settings) -> LocalSource:
    """The packaged folder. Raises `UsageError` when a revision is asked for."""
    if settings.revision is not None:
        raise UsageError("sample: expected a model on the Hub with --revision, found the packaged sample")
    return LocalSource(spec, _FOLDER, None, kind="sample", identity="sample")
