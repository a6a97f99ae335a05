"""One file on this machine, pinned to the version first seen."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from io import FileIO
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources.file_names import printable
from ln_audit.sources.spans import check_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# O_NONBLOCK: a FIFO that took the file's place after the check must not hold us; O_BINARY exists on Windows only.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def is_special(path: str) -> bool:
    """Whether something is there that is neither a file nor a folder: of a pipe nothing may ever come."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))  # noqa: PTH110, PTH112, PTH113


class DiskFile:
    """Reads ranges of a regular file; once its modification time, size or inode has changed, every read is an error."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label  # how messages call it
        self.bytes_read = 0
        self._pin: tuple[int, int, int] | None = None

    @property
    def known_size(self) -> int | None:
        """The size first seen; None before the file was looked at."""
        return None if self._pin is None else self._pin[1]

    def size(self) -> int:
        """Size in bytes. Raises `SourceError`."""
        with self._opened() as (_, size):
            return size

    def read(self, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        with self._opened() as (descriptor, size):
            check_bounds(self.label, ranges, size)
            return [self._bytes(descriptor, wanted) for wanted in ranges]

    def prefix(self, at_most: int) -> bytes:
        """The first bytes. Raises `SourceError`."""
        with self._opened() as (descriptor, size):
            return self._bytes(descriptor, Range(0, min(at_most, size)))

    @contextmanager
    def kept_open(self) -> Iterator[Callable[[int, memoryview], None]]:
        """For a long walk: a function that fills a buffer with the bytes from `begin` on. Raises `SourceError`."""
        with self._opened() as (descriptor, size), FileIO(descriptor, closefd=False) as file:
            if hasattr(os, "posix_fadvise"):  # the system then reads further ahead
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)

            def fill(begin: int, buffer: memoryview) -> None:
                check_bounds(self.label, [Range(begin, begin + len(buffer))], size)
                file.seek(begin)
                done = 0
                while done < len(buffer):
                    if not (count := file.readinto(buffer[done:])):
                        raise self._cut(len(buffer) - done)
                    done += count
                self._unchanged(os.fstat(descriptor))
                self.bytes_read += done

            yield fill

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """A descriptor and the size; looks at the file's state before and after, so that no mixture comes out."""
        try:
            self._refuse_special(self.path.stat())
            descriptor = os.open(self.path, _FLAGS)
            try:
                yield descriptor, self._unchanged(os.fstat(descriptor))
                self._unchanged(os.fstat(descriptor))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise disk_fault(self.label, self.path, error) from error

    def _bytes(self, descriptor: int, wanted: Range) -> bytes:
        os.lseek(descriptor, wanted.begin, os.SEEK_SET)
        missing, parts = wanted.end - wanted.begin, []
        while missing:
            part = os.read(descriptor, min(missing, 1 << 30))  # Linux gives at most 2 GiB at a time
            if not part:
                raise self._cut(missing)
            parts.append(part)
            missing -= len(part)
        self.bytes_read += wanted.end - wanted.begin
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _cut(self, missing: int) -> SourceError:
        return SourceError(f"{self.label}: expected {missing} more bytes, found the end: cut while being read")

    def _refuse_special(self, status: os.stat_result) -> None:
        for is_kind, kind in _KINDS:
            if is_kind(status.st_mode):
                raise SourceError(
                    f"{self.label}: expected a regular file, found {kind}",
                    hint="name the file inside it" if kind == "a folder" else "copy its content to a file first",
                )

    def _unchanged(self, status: os.stat_result) -> int:
        self._refuse_special(status)
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._pin is None:
            self._pin = seen
        if self._pin != seen:
            raise SourceError(
                f"{self.label}: expected the version first read ({self._pin[1]} bytes), found the file changed "
                f"({status.st_size} bytes): nothing is reported from a mixture",
                hint="run again when nothing writes to it",
            )
        return status.st_size


def disk_fault(label: str, path: Path, error: OSError) -> SourceError:
    """What the operating system's refusal means, in our words."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):  # noqa: PTH114 - Path.is_link is 3.12
            target = printable(os.readlink(path))  # noqa: PTH115
            return SourceError(
                f"{label}: expected a file, found a dangling link -> {target}",
                hint="the link's target was moved, or copied without its blobs: download or copy it again",
            )
        return SourceError(f"{label}: expected a file, found no such file or folder")
    if isinstance(error, PermissionError):
        return SourceError(
            f"{label}: expected a readable file, found permission denied", hint="check its access rights"
        )
    if error.errno == errno.ELOOP:
        return SourceError(f"{label}: expected a file, found links that lead in a circle")
    return SourceError(f"{label}: expected a readable file, found {printable(error.strerror or str(error)).lower()}")
