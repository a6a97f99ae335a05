"""A model on the Hugging Face Hub, read by range and pinned to one commit.

One request to the Hub per file: its redirect tells commit, size and SHA-256, and its signed address serves all ranges.
Everything the user has set up for `huggingface_hub` holds: endpoint, token, cache, offline mode, proxies. The token
goes to the endpoint's own origin and nowhere else, however a redirect may point.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ln_audit.core import FileUse, Range, SourceKind
from ln_audit.errors import SourceError
from ln_audit.sources import faults, hub_faults, hub_listing, hub_target
from ln_audit.sources.disk_file import DiskFile
from ln_audit.sources.file_names import check_inside, printable
from ln_audit.sources.hub_cache import COMMIT, HubCache, published_sha256
from ln_audit.sources.remote_file import FIRST_BYTES, RemoteFile
from ln_audit.sources.wire import Answer, Ask, Wire, origin, request_headers, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.sources.hub_target import HubTarget
    from ln_audit.sources.settings import Settings

accepts = hub_target.looks_like_hub
_CHANGED = "the repository changed while it was read: run again"


def open_source(spec: str, settings: Settings) -> HubSource:
    """The repository; nothing is asked of the Hub yet. Raises `SourceError`, `UsageError` for two revisions."""
    return HubSource(spec, hub_target.parse(spec, settings.revision), settings)


class HubSource:
    """`published`: the SHA-256 the Hub told of a file; `verified`: files whose whole content was held against it."""

    kind: SourceKind = "hub"

    def __init__(self, spec: str, target: HubTarget, settings: Settings) -> None:
        from huggingface_hub import constants, is_offline_mode

        self.spec = spec
        self.identity = target.repo
        self.entry = target.path
        self.published: dict[str, str] = {}
        self.verified: set[str] = set()
        self._settings = settings
        self._asked_revision = target.revision or constants.DEFAULT_REVISION
        self._cache = HubCache(target)
        self._offline = settings.offline or is_offline_mode()
        self._endpoint = constants.ENDPOINT
        self._wire = Wire(self._headers_for)
        self._files: dict[str, RemoteFile | DiskFile | None] = {}
        self.revision = self._known_commit()

    @property
    def requests(self) -> int:
        """HTTP requests so far, redirects included."""
        return self._wire.requests

    @property
    def used(self) -> Sequence[FileUse]:
        """Every file asked for: bytes of all bodies that came for it, or those read of its cached copy."""
        names = dict.fromkeys((*self._wire.received, *self._files))
        return tuple(self._use(name) for name in names)

    def exists(self, file: str) -> bool:
        """Whether the repository has the file at this commit. Raises `SourceError`."""
        return self._locate(file) is not None

    def size(self, file: str) -> int:
        """Size in bytes. Raises `SourceError`."""
        found = self._found(file)
        return found.size() if isinstance(found, DiskFile) else found.measure()

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        return self._readable(file).read(ranges)

    def read_prefix(self, file: str, at_most: int) -> bytes:
        """The first bytes. Raises `SourceError`."""
        return self._readable(file).prefix(at_most)

    def files(self) -> Sequence[str] | None:
        """Names of all files of the repository; None when one was named. Raises `SourceError`."""
        if self.entry is not None:
            return None
        if self._offline:
            return self._cache.files(self.revision) if self.revision else ()
        return hub_listing.files(self._wire, self._asked(None))

    # ------------------------------------------------------------------------------------------------ finding a file

    def _found(self, file: str) -> RemoteFile | DiskFile:
        found = self._locate(file)
        if found is None:
            raise SourceError(
                f"{self._asked(file).label}: expected the file at revision {printable(self._now)}, found no such file"
            )
        return found

    def _locate(self, file: str) -> RemoteFile | DiskFile | None:
        if file not in self._files:
            check_inside(printable(self.spec), file)
            look = self._absent_offline if self._offline else self._first_look
            self._files[file] = self._cached(file) or look(file)
        return self._files[file]

    def _cached(self, file: str) -> DiskFile | None:
        """The cached copy at the commit we are pinned to; with --full the Hub is asked for its SHA-256 first."""
        if self.revision is None or (self._settings.full and not self._offline and file not in self.published):
            return None
        return self._cache.file(file, self.revision)

    def _absent_offline(self, file: str) -> None:
        """As for every loader offline, a file that a cached snapshot lacks is absent; no snapshot is an error."""
        dangling = self._cache.dangling(file, self.revision) if self.revision else None
        if dangling is not None:
            raise dangling
        if self.revision is None or self._cache.snapshot(self.revision) is None:
            raise SourceError(
                f"{self._asked(file).label}: expected revision {printable(self._now)} in the cache, "
                "found it not cached, and offline mode allows no request",
                hint=f"{faults.OFFLINE_HINT}, or run `hf download {self.identity}` first",
            )

    def _first_look(self, file: str) -> RemoteFile | DiskFile | None:
        """Where the Hub says the file is, or its cached copy, now that the commit is known."""
        found = self._ask_hub(file)
        return found and (self._cached(file) or found)

    def _ask_hub(self, file: str) -> RemoteFile | None:
        """A small file comes with the answer, of a large one the address; None when there is no such file."""
        from huggingface_hub import hf_hub_url

        first = Range(0, FIRST_BYTES)
        asked = self._asked(file)
        ask = Ask(asked.label, file, first)
        url = hf_hub_url(self.identity, file, revision=self._now, endpoint=self._endpoint)
        hops = self._wire.follow(url, ask, stop=lambda target: not self._is_hub(target))
        answer = hops[-1]
        absent = hub_faults.is_absent(answer)
        if not absent and answer.redirect is None and answer.status not in {200, 206, 416}:
            raise hub_faults.refused(asked, answer)
        self._learn_commit(asked, hops)
        if absent:
            return None
        self._learn_name(hops)
        self._learn_sha256(asked, file, hops)
        found = RemoteFile(
            self._wire,
            ask,
            answer.redirect or answer.url,
            size=_linked_size(hops),
            pinned_elsewhere=self.revision is not None,
        )
        if answer.redirect is None:
            found.accept(answer, first)
        else:
            found.renew = lambda: self._renewed(file)
        return found

    def _renewed(self, file: str) -> str:
        """A fresh signed address for a file whose first one has expired; commit and SHA-256 are checked again."""
        found = self._ask_hub(file)
        if found is None:
            raise SourceError(f"{self._asked(file).label}: expected the version first read, found the file gone")
        return found.url

    def _readable(self, file: str) -> RemoteFile | DiskFile:
        """The file where it is; with --full, downloaded first, and held against its SHA-256 where the Hub publishes one."""
        found = self._found(file)
        if not self._settings.full or file in self.verified:
            return found
        from ln_audit.sources import hub_download

        if isinstance(found, RemoteFile):
            found = hub_download.download(
                self._asked(file), file, self._asked_revision, self._wire, progress=self._settings.progress
            )
            self._files[file] = found
        blob = found.path.resolve().name  # the cache names a blob by the ETag that the Hub published for it
        expected = self.published.get(file) or published_sha256(blob)
        if expected is not None:
            hub_download.verify(found, expected)
            self.published[file] = expected
            self.verified.add(file)
        return found

    # ---------------------------------------------------------------------------------------------------- what is known

    @property
    def _now(self) -> str:
        """The revision to ask for: the commit as soon as one is known."""
        return self.revision or self._asked_revision

    def _known_commit(self) -> str | None:
        if COMMIT.fullmatch(self._asked_revision):
            return self._asked_revision
        return self._cache.commit(self._asked_revision) if self._offline else None

    def _learn_commit(self, asked: hub_faults.Asked, hops: Sequence[Answer]) -> None:
        """From the first answer on, everything is of its commit. A mirror that tells none is pinned by ETag alone."""
        for hop in hops:
            commit = hop.headers.get("x-repo-commit", "").lower()
            if not COMMIT.fullmatch(commit):
                continue
            if self.revision is not None and commit != self.revision:
                raise SourceError(f"{asked.label}: expected commit {self.revision}, found {commit}", hint=_CHANGED)
            self.revision = commit

    def _learn_name(self, hops: Sequence[Answer]) -> None:
        """A renamed repository redirects each request; after the first one its new name is used."""
        for hop in hops:
            path = urlsplit(hop.url).path.removeprefix(urlsplit(self._endpoint).path).strip("/")
            name, resolves, _ = path.partition("/resolve/")
            if resolves and hub_target.looks_like_hub(name):
                self.identity = name

    def _learn_sha256(self, asked: hub_faults.Asked, file: str, hops: Sequence[Answer]) -> None:
        sha256 = published_sha256(told(hops, "x-linked-etag"))
        if sha256 is not None and self.published.setdefault(file, sha256) != sha256:
            raise SourceError(f"{asked.label}: expected SHA-256 {self.published[file]}, found {sha256}", hint=_CHANGED)

    def _asked(self, file: str | None) -> hub_faults.Asked:
        return hub_faults.Asked(self.identity, self._now, file, self._endpoint, logged_in=self._token is not None)

    @cached_property
    def _token(self) -> str | None:
        return None if self._offline else hub_faults.token(self.identity)

    def _is_hub(self, url: str) -> bool:
        return origin(url) == origin(self._endpoint)

    def _headers_for(self, url: str) -> Mapping[str, str]:
        return request_headers(self._token if self._is_hub(url) else None)

    def _use(self, file: str) -> FileUse:
        found = self._files.get(file)
        on_disk = found if isinstance(found, DiskFile) else None
        size = on_disk.known_size if on_disk else found.size if isinstance(found, RemoteFile) else None
        read = self._wire.received.get(file, 0) + (on_disk.bytes_read if on_disk else 0)
        return FileUse(file, size, read, self.published[file] if file in self.verified else None)


def _linked_size(hops: Sequence[Answer]) -> int | None:
    size = told(hops, "x-linked-size") or ""
    return int(size) if size.isdecimal() and len(size) < 20 else None
