"""A file on any web server, read by range. The Hub's token never goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from ln_audit.core import FileUse, Range, SourceKind
from ln_audit.errors import SourceError, UsageError
from ln_audit.sources import faults
from ln_audit.sources.file_names import check_inside, printable
from ln_audit.sources.remote_file import FIRST_BYTES, RemoteFile, is_page
from ln_audit.sources.wire import Answer, Ask, Wire, request_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.sources.settings import Settings

_ABSENT = frozenset({403, 404, 410})  # 403: what an S3 bucket says of a name it does not hold


def accepts(spec: str) -> bool:
    """An http or https URL."""
    return spec.lower().startswith(("https://", "http://"))


def open_source(spec: str, settings: Settings) -> HttpSource:
    """The file at a URL. Raises `SourceError`; `UsageError` for what only the Hub has."""
    option = "--revision" if settings.revision is not None else "--full" if settings.full else None
    source = HttpSource(spec)
    if option is not None:
        raise UsageError(
            f"{source.identity}: expected a model on the Hub with {option}, found a web server",
            hint="write hf://org/name for a model on the Hub; a web server publishes neither revisions nor a SHA-256",
        )
    if settings.offline:
        raise SourceError(
            f"{source.identity}: expected a local target, found a URL in offline mode", hint=faults.OFFLINE_HINT
        )
    return source


class HttpSource:
    """One file at a URL; with no query in it also the files beside it: config.json, shards."""

    kind: SourceKind = "http"
    revision: str | None = None

    def __init__(self, spec: str) -> None:
        try:
            parts = urlsplit(spec)
            host = parts.netloc.rpartition("@")[2]
        except ValueError as error:
            raise SourceError(f"{printable(spec)}: expected a URL, found {error}") from error
        folder, _, name = parts.path.rpartition("/")
        self.spec = spec
        self.entry: str | None = unquote(name)
        self.identity = printable(
            f"{parts.scheme}://{host}{parts.path}", 500
        )  # no query, no password: both are secrets
        if not host or not name:
            raise SourceError(
                f"{self.identity}: expected the URL of a file, found one of a folder", hint="add the file's name"
            )
        self._url = spec.partition("#")[0]
        self._folder = None if parts.query else f"{parts.scheme}://{parts.netloc}{folder}/"
        self._wire = Wire(lambda _: request_headers())
        self._files: dict[str, RemoteFile | None] = {}

    @property
    def requests(self) -> int:
        """HTTP requests so far, redirects included."""
        return self._wire.requests

    @property
    def used(self) -> Sequence[FileUse]:
        """Every file asked for, with the bytes of all bodies that came for it."""
        sizes = {name: file.size for name, file in self._files.items() if file is not None}
        return tuple(FileUse(name, sizes.get(name), count) for name, count in self._wire.received.items())

    def exists(self, file: str) -> bool:
        """Whether the server has it; a page in place of a file beside the named one is not it. Raises `SourceError`."""
        return self._locate(file) is not None

    def size(self, file: str) -> int:
        """Size in bytes. Raises `SourceError`."""
        return self._found(file).measure()

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        return self._found(file).read(ranges)

    def read_prefix(self, file: str, at_most: int) -> bytes:
        """The first bytes. Raises `SourceError`."""
        return self._found(file).prefix(at_most)

    def files(self) -> Sequence[str] | None:
        """None: web servers have no listing."""
        return None

    def _found(self, file: str) -> RemoteFile:
        found = self._locate(file)
        if found is None:
            raise SourceError(f"{self._label(file)}: expected a file, found none there")
        return found

    def _locate(self, file: str) -> RemoteFile | None:
        if file not in self._files:
            self._files[file] = self._first_look(file)
        return self._files[file]

    def _first_look(self, file: str) -> RemoteFile | None:
        url = self._url
        if file != self.entry:
            check_inside(self.identity, file)
            if self._folder is None:
                return None
            url = self._folder + quote(file)
        first = Range(0, FIRST_BYTES)
        ask = Ask(self._label(file), file, first)
        answer = self._wire.follow(url, ask)[-1]
        if _is_absent(answer, is_entry=file == self.entry):
            return None
        found = RemoteFile(self._wire, ask, answer.url, renew=lambda: url)
        found.accept(answer, first)
        return found

    def _label(self, file: str) -> str:
        return self.identity if file == self.entry else printable(f"{self.identity.rpartition('/')[0]}/{file}", 500)


def _is_absent(answer: Answer, *, is_entry: bool) -> bool:
    if is_entry:
        return answer.status in {404, 410}
    return answer.status in _ABSENT or (answer.status in {200, 206} and is_page(answer, 0))
