"""Files that this process holds in memory: a source of no target, for what was never written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ln_audit.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.core import FileUse, Range, SourceKind


@dataclass(frozen=True)
class InMemorySource:
    """`held` is content by name. Nothing goes over the wire, and no file is used."""

    spec: str
    held: Mapping[str, bytes]
    kind: SourceKind = "local"
    revision: str | None = None
    entry: str | None = None
    requests: int = 0
    used: Sequence[FileUse] = field(default=())

    @property
    def identity(self) -> str:
        """What it is called."""
        return self.spec

    def exists(self, file: str) -> bool:
        """Whether there is such a file."""
        return file in self.held

    def size(self, file: str) -> int:
        """Size in bytes. Raises `SourceError`."""
        return len(self._content(file))

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        content = self._content(file)
        if any(not 0 <= begin <= end <= len(content) for begin, end in ranges):
            raise SourceError(f"{self.spec}: {file}: expected ranges within {len(content):,} bytes, found one beyond")
        return [content[begin:end] for begin, end in ranges]

    def read_prefix(self, file: str, at_most: int) -> bytes:
        """The first bytes. Raises `SourceError`."""
        return self._content(file)[:at_most]

    def files(self) -> Sequence[str] | None:
        """All names."""
        return sorted(self.held)

    def _content(self, file: str) -> bytes:
        if file not in self.held:
            raise SourceError(f"{self.spec}: expected {file}, found no such file")
        return self.held[file]
