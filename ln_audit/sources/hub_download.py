"""Whole files for --full: fetched by `hf_hub_download` into its cache, held against the SHA-256 the Hub publishes."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.errors import SourceError
from ln_audit.sources import faults, hub_faults
from ln_audit.sources.disk_file import DiskFile, disk_fault
from ln_audit.sources.file_names import printable
from ln_audit.sources.wire import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.sources.wire import Wire


def download(asked: hub_faults.Asked, file: str, branch: str, wire: Wire, *, progress: bool) -> DiskFile:
    """The file at `asked.revision` in the Hub's cache, fetched unless it is there already. Raises `SourceError`.

    It is fetched as of `branch`, so that the cache remembers which commit that was and --offline finds it again.
    Requests go into the account of `wire`, and the file's size when it was fetched. (Xet transfers go past the session
    and may move fewer bytes than that.)
    """
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(asked.repo, file, revision=asked.revision)
    if isinstance(cached, str):
        return DiskFile(Path(cached), asked.label)
    _fetch(asked, file, branch, wire, progress=progress)
    cached = try_to_load_from_cache(asked.repo, file, revision=asked.revision)
    if not isinstance(cached, str):
        raise SourceError(
            f"{asked.label}: expected commit {asked.revision}, found that {printable(branch)} is another one by now",
            hint="the repository changed while it was read: run again",
        )
    found = DiskFile(Path(cached), asked.label)
    wire.received[file] = wire.received.get(file, 0) + found.size()
    return found


def _fetch(asked: hub_faults.Asked, file: str, branch: str, wire: Wire, *, progress: bool) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    bar = {} if progress else {"tqdm_class": _silent_bar()}
    try:
        with _counted(wire):
            hf_hub_download(asked.repo, file, revision=branch, endpoint=asked.endpoint, **bar)
    except HfHubHTTPError as error:
        response = error.response
        answer = Answer(str(response.url), response.status_code, response.headers, b"", whole=True)
        raise hub_faults.refused(asked, answer) from error
    except faults.transport_errors() as error:
        raise faults.no_answer(asked.label, asked.endpoint, error) from error
    except (OSError, ValueError, RuntimeError) as error:  # disk full, size differs, Xet, no file lock
        told = printable(" ".join(str(error).split()))  # the client writes paragraphs
        raise SourceError(
            f"{asked.label}: expected the whole file, found that the download failed: {told}",
            hint="try again; without --full only the bytes needed are read",
        ) from error


def verify(file: DiskFile, expected: str) -> None:
    """Hold the whole content against a SHA-256. Raises `SourceError` when it differs."""
    file.size()  # pins the version
    try:
        with file.path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise disk_fault(file.label, file.path, error) from error
    file.size()  # and sees whether it changed meanwhile
    if found != expected:
        raise SourceError(
            f"{file.label}: expected SHA-256 {expected} as the Hub publishes it, found {found}",
            hint=f"the download differs: delete {file.path.resolve()} and run again",
        )


def _silent_bar() -> Any:
    from huggingface_hub.utils import tqdm

    class Silent(tqdm):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": True})

    return Silent


@contextmanager
def _counted(wire: Wire) -> Iterator[None]:
    """Counts the requests that the client sends on its own: its hooks see each one, redirects included."""

    def count(_: object) -> None:
        wire.requests += 1

    client = faults.session("hub")
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "request": [*hooks["request"], count]}
    try:
        yield
    finally:
        client.event_hooks = hooks
