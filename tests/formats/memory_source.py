"""A `Source` of files in memory, which writes down what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.core import FileUse, Range, SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class MemorySource:
    revision: str | None = None
    requests = 0

    def __init__(self, files: dict[str, bytes], *, kind: SourceKind = "local", entry: str | None = None) -> None:
        self.contents = files
        self.kind = kind
        self.entry = entry
        self.spec = self.identity = "memory"
        self.used: Sequence[FileUse] = ()
        self.reads: list[tuple[str, tuple[Range, ...]]] = []
        self.asked: list[str] = []  # exists and files, in order

    def exists(self, file: str) -> bool:
        self.asked.append(file)
        return file in self.contents

    def size(self, file: str) -> int:
        return len(self.contents[file])

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        self.reads.append((file, tuple(ranges)))
        parts = [self.contents[file][begin:end] for begin, end in ranges]
        assert [len(part) for part in parts] == [end - begin for begin, end in ranges], (
            "read beyond the end of the file"
        )
        return parts

    def read_prefix(self, file: str, at_most: int) -> bytes:
        self.reads.append((file, (Range(0, at_most),)))
        return self.contents[file][:at_most]

    def files(self) -> Sequence[str] | None:
        self.asked.append("files()")
        return sorted(self.contents)


def folder(path: Path) -> MemorySource:
    """A real folder's files, read into memory; links that lead nowhere are left out."""
    return MemorySource({p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()})
