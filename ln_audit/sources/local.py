"""Models on this machine: a folder, or one file with what lies beside it.

Links inside a folder are followed wherever they lead: the Hub's cache is made of them (`snapshots/<commit>/x` →
`../../blobs/<hash>`), and people link models from other disks. That is safe here, because a link is something that this
machine's file system holds and its permissions guard, while a *name* found inside a downloaded file is somebody else's
text: names are therefore checked (`check_inside`), links are not.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.core import FileUse, Range, SourceKind
from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import near_names
from ln_audit.sources.disk_file import DiskFile, disk_fault
from ln_audit.sources.file_names import check_inside, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from ln_audit.sources.settings import Settings

_PATH_STARTS = (".", "/", "~", "\\")  # what nobody writes who means a model's name
_MOST_FILES = 10_000  # a checkpoint has hundreds; more means that somebody's whole disk was named


def accepts(spec: str) -> bool:
    """An existing path, or a word that can only be one."""
    return "://" not in spec and (spec.startswith(_PATH_STARTS) or os.path.lexists(spec))


def only_path(word: str) -> str:
    """A path as a target that can be nothing else: a folder called like a model on the Hub, or like `sample`, stays a folder."""
    return word if word == "." or word.startswith(("./", "../")) or os.path.isabs(word) else f"./{word}"  # noqa: PTH117


def open_source(spec: str, settings: Settings) -> LocalSource:
    """The folder or file at a path. Raises `SourceError`; `UsageError` when a revision is asked for."""
    if settings.revision is not None:
        raise UsageError(
            f"{printable(spec)}: expected a model on the Hub with --revision, found a path",
            hint="a folder has no revision; drop the option, or write hf://org/name",
        )
    if "\0" in spec:
        raise SourceError(f"{printable(spec)}: expected a path, found one with a NUL character")
    path = Path(os.path.expanduser(spec))  # noqa: PTH111 - never raises, Path.expanduser does for an unknown user
    root, entry = (path, None) if os.path.isdir(path) else (path.parent, path.name)  # noqa: PTH112 - False if forbidden
    source = LocalSource(spec, root, entry)
    if entry is not None:
        try:
            source.size(entry)  # a missing file, a dangling link or a pipe is said before anything else is tried
        except SourceError as error:
            if error.hint or os.path.lexists(path):
                raise
            raise SourceError(error.message, hint=near_names.hint(spec)) from error
    return source


class LocalSource:
    """A folder, read by range. `requests` is 0, `revision` None."""

    revision: str | None = None
    requests = 0

    def __init__(
        self,
        spec: str,
        root: Path,
        entry: str | None,
        kind: SourceKind = "local",
        identity: str | None = None,
    ) -> None:
        self.spec = spec
        self.kind = kind
        self.entry = entry
        self.identity = identity or os.path.abspath(root / entry if entry else root)  # noqa: PTH100 - links keep names
        self._root = root
        self._files: dict[str, DiskFile] = {}

    @property
    def used(self) -> Sequence[FileUse]:
        """Every file that was read or measured."""
        return tuple(FileUse(name, file.known_size, file.bytes_read) for name, file in self._files.items())

    def exists(self, file: str) -> bool:
        """Whether a file of that name is there; a folder of that name is not one. Raises `SourceError`."""
        path = self._path(file)
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            if path.is_symlink():
                raise disk_fault(self._label(file), path, error) from error
            return False
        except OSError as error:
            raise disk_fault(self._label(file), path, error) from error
        return not stat.S_ISDIR(status.st_mode)

    def size(self, file: str) -> int:
        """Size in bytes. Raises `SourceError`."""
        return self._file(file).size()

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        return self._file(file).read(ranges)

    def kept_open(self, file: str) -> AbstractContextManager[Callable[[int, memoryview], None]]:
        """A function that fills a buffer with the bytes from an offset on, for a long walk. Raises `SourceError`."""
        return self._file(file).kept_open()

    def read_prefix(self, file: str, at_most: int) -> bytes:
        """The first bytes. Raises `SourceError`."""
        return self._file(file).prefix(at_most)

    def files(self) -> Sequence[str] | None:
        """All files below the folder, hidden folders left out; None when one file was named. Raises `SourceError`."""
        if self.entry is not None:
            return None
        found: list[str] = []
        for folder, folders, names in os.walk(self._root, onerror=self._refuse_unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += [(Path(folder) / name).relative_to(self._root).as_posix() for name in names]
            if len(found) > _MOST_FILES:
                raise SourceError(
                    f"{printable(self.spec)}: expected a model's folder, found more than {_MOST_FILES} files",
                    hint="name the model's own folder, or the file",
                )
        return sorted(found)

    def _refuse_unreadable(self, error: OSError) -> None:
        if error.filename == os.fspath(self._root):  # a forbidden folder further down is not the model's
            raise disk_fault(printable(self.spec), self._root, error) from error

    def _file(self, file: str) -> DiskFile:
        if file not in self._files:
            self._files[file] = DiskFile(self._path(file), self._label(file))
        return self._files[file]

    def _path(self, file: str) -> Path:
        if file != self.entry:
            check_inside(printable(self.spec), file)
        return self._root / file

    def _label(self, file: str) -> str:
        return printable(self.spec if file == self.entry else f"{self.spec.rstrip('/')}/{file}")
