"""A recording's file: bytes by range, from the version first seen, and every fault a `RecordingError`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import AuditError, RecordingError
from ln_audit.sources.file_names import printable
from ln_audit.sources.local import open_source
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from ln_audit.sources.local import LocalSource

Read = Callable[[int, int], bytes]  # the bytes from begin to end, exactly as many
Fill = Callable[[int, memoryview], None]  # all of a buffer with the bytes from begin on


@contextmanager
def as_recording_fault() -> Iterator[None]:
    """What is no `RecordingError` yet becomes one, message and hint kept."""
    try:
        yield
    except RecordingError:
        raise
    except AuditError as error:
        raise RecordingError(error.message, hint=error.hint) from error


class RecordedFile:
    """One file on this machine, opened anew for each read, so that any number of walks may run side by side."""

    def __init__(self, path: str) -> None:
        """Raises `RecordingError` where there is no such regular file."""
        self.label = printable(path)
        with as_recording_fault():
            self.source: LocalSource = open_source(path, Settings())
            if self.source.entry is None:
                raise RecordingError(f"{self.label}: expected a file, found a folder")
            self.entry: str = self.source.entry
            self.size = self.source.size(self.entry)

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`. Raises `RecordingError`, also when the file has changed meanwhile."""
        with as_recording_fault():
            return self.source.read(self.entry, [Range(begin, end)])[0]

    @contextmanager
    def kept_open(self) -> Iterator[Fill]:
        """The same for a long walk into one's own buffers: the file is opened once."""
        with as_recording_fault(), self.source.kept_open(self.entry) as fill:
            yield fill

    def prefix(self, at_most: int) -> bytes:
        """The first bytes, fewer where the file is shorter."""
        return self.read(0, min(at_most, self.size))

    def seekable_file(self) -> RawIOBase:
        """The same for zipfile."""
        return _Seekable(self)


class _Seekable(RawIOBase):
    """A file object that refuses reads of a size only a forged zip directory asks for."""

    LARGEST_READ = 2**22  # the directory of a zip archive is read at once; 4 MB list 50,000 members

    def __init__(self, file: RecordedFile) -> None:
        super().__init__()
        self.file = file
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        at = offset + {SEEK_SET: 0, SEEK_CUR: self.at, SEEK_END: self.file.size}[whence]
        if at < 0:
            raise OSError("seek before the beginning")  # as a file of the operating system does; zipfile expects it
        self.at = at
        return at

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self.file.size - self.at)
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > self.LARGEST_READ:
            raise RecordingError(f"{self.file.label}: expected a zip directory of 4 MB at most, found {wanted:,} bytes")
        data = self.file.read(self.at, self.at + wanted) if wanted else b""
        self.at += wanted
        return data
