"""Where a finding is, for tools that show results beside files: paths that are the same on every machine."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from ln_audit.printable import short

if TYPE_CHECKING:
    from ln_audit.result import SourceReport

_LONGEST = 1_000  # characters of a path


def file_of(source: SourceReport, message: str) -> str:
    """The file that a message begins with, else the largest; empty where none was read."""
    named = message.partition(":")[0]
    if any(file.name == named for file in source.files):
        return named
    return max(source.files, key=lambda file: file.size or 0).name if source.files else ""


def repository_path(source: SourceReport, message: str) -> str:
    """The path of a local target's file as the caller wrote it, from the working directory; empty for every other target."""
    if source.kind != "local" or _absolute(source.spec):
        return ""
    return _path(source, message)


def uri(source: SourceReport, message: str) -> str:
    """A URI reference: a path from the working directory, `file://` for an absolute one, `org/name/file` and `host/file` elsewhere."""
    if source.kind != "local":
        base = source.identity.partition("://")[2] or source.identity
        file = file_of(source, message)
        return _quoted(base if not file or base.endswith(f"/{file}") else f"{base.rstrip('/')}/{file}")
    path = _path(source, message)
    return f"file:///{_quoted(path.lstrip('/'))}" if _absolute(source.spec) else _quoted(path)


def stable(source: SourceReport, message: str) -> str:
    """What stays of that on another machine and at another commit: the model on the Hub or host, of a local one the file."""
    return file_of(source, message) if source.kind == "local" else f"{source.identity}/{file_of(source, message)}"


def _path(source: SourceReport, message: str) -> str:
    spec, file = source.spec.replace("\\", "/"), file_of(source, message)
    whole = spec if not file or PurePosixPath(spec).name == file else f"{spec.rstrip('/')}/{file}"
    return short(PurePosixPath(whole).as_posix(), _LONGEST)


def _absolute(spec: str) -> bool:
    return spec.startswith(("/", "~")) or PureWindowsPath(spec).is_absolute()


def _quoted(path: str) -> str:
    """As a relative reference; a first segment with a colon would be a scheme, hence it is quoted too."""
    return quote(short(path, _LONGEST), safe="/")
