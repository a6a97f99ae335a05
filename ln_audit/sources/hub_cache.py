"""What `huggingface_hub`'s cache holds, found through its own look-up; nothing here touches the network."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ln_audit.errors import SourceError
from ln_audit.sources.disk_file import DiskFile
from ln_audit.sources.file_names import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.sources.hub_target import HubTarget

COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class HubCache:
    """The cached snapshots of one repository, under its name and its short name (the commit makes them the same)."""

    def __init__(self, target: HubTarget) -> None:
        self._names = (target.repo, target.alias) if target.alias else (target.repo,)

    def commit(self, revision: str) -> str | None:
        """The commit that a branch or tag meant when the cache was filled."""
        for folder in self._folders():
            try:
                found = (folder / "refs" / revision).read_text("ascii", errors="replace").strip()
            except OSError:
                continue
            if COMMIT.fullmatch(found):
                return found
        return None

    def file(self, file: str, commit: str) -> DiskFile | None:
        """The cached file, or None when the cache does not hold it."""
        from huggingface_hub import try_to_load_from_cache

        for name in self._names:
            found = try_to_load_from_cache(name, file, revision=commit)
            if isinstance(found, str):
                return DiskFile(Path(found), printable(f"{self._names[0]}/{file}"))
        return None

    def snapshot(self, commit: str) -> Path | None:
        """The folder of that commit, or None."""
        candidates = (folder / "snapshots" / commit for folder in self._folders())
        return next((path for path in candidates if path.is_dir()), None)

    def files(self, commit: str) -> Sequence[str]:
        """Names of the cached files of that commit; a link whose blob is gone is among them."""
        root = self.snapshot(commit)
        if root is None:
            return ()
        found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or path.is_file())
        return sorted(found)

    def dangling(self, file: str, commit: str) -> SourceError | None:
        """The error for a cached link whose blob is gone; None when there is no such link."""
        root = self.snapshot(commit)
        path = root / PurePosixPath(file) if root is not None else None
        if path is None or not path.is_symlink() or path.exists():
            return None
        return SourceError(
            f"{printable(self._names[0])}/{printable(file)}: expected a cached file, found a dangling link -> "
            f"{printable(str(path.readlink()))}",
            hint="the cache was copied without its blobs: download again without --offline",
        )

    def _folders(self) -> list[Path]:
        from huggingface_hub import constants
        from huggingface_hub.file_download import repo_folder_name

        return [
            Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=name, repo_type="model") for name in self._names
        ]


def published_sha256(text: str | None) -> str | None:
    """The SHA-256 out of an ETag or a blob's name; None for the git hash of a small file, which is no SHA-256 of it."""
    bare = (text or "").removeprefix("W/").strip('"').lower()
    return bare if _SHA256.fullmatch(bare) else None
