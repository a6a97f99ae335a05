"""SHA-256 of whole files, where it is known: as the Hub publishes it and --full checked it, or of a file on this machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ln_audit.core import Source

_PIECE = 2**22  # bytes read at a time


def known(source: Source, files: Sequence[str], *, full: bool) -> dict[str, str]:
    """The container's files by name with their SHA-256; of local ones only with `full`, it costs reading them whole.

    Raises `SourceError`.
    """
    checked = {file.name: file.sha256 for file in source.used if file.sha256 is not None}
    if full and source.kind in ("local", "sample"):
        checked = {file: _hashed(source, file) for file in files}
    return {one_line(file): checked[file] for file in files if file in checked}


def whole(source: Source, files: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each of these files that is there, read to its end. Raises `SourceError`."""
    return {file: _hashed(source, file) for file in files if source.exists(file)}


def _hashed(source: Source, file: str) -> str:
    digest, size = hashlib.sha256(), source.size(file)
    for begin in range(0, size, _PIECE):
        digest.update(source.read(file, [Range(begin, min(begin + _PIECE, size))])[0])
    return digest.hexdigest()
