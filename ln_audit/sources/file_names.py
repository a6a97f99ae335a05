"""Names of files inside a folder or repository: what they may look like, and how they are shown."""

from __future__ import annotations

from ln_audit.errors import SourceError

_MAX_NAME = 1024  # bytes; far above any real name, far below what would hurt to repeat in a message


def printable(text: str, at_most: int = 200) -> str:
    """The text on one line and without control characters: names and server messages are not ours."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    return shown if len(shown) <= at_most else shown[: at_most - 1] + "…"


def check_inside(where: str, file: str) -> None:
    """Refuse a name that does not stay inside its folder.

    Names come out of files that others wrote (shards in an index), so `..`, an absolute path, a drive letter, an empty
    segment, NUL and half of a surrogate pair (JSON can write one) are refused before the name meets a file system or a
    URL. Raises `SourceError`.
    """
    segments = file.replace("\\", "/").split("/")
    outside = any(segment in {"", ".", ".."} for segment in segments) or segments[0].endswith(":")
    unusable = (
        "\0" in file or any("\ud800" <= c <= "\udfff" for c in file) or len(file.encode(errors="replace")) > _MAX_NAME
    )
    if outside or unusable:
        raise SourceError(f"{where}: expected a file name inside the folder, found {printable(file)!r}")
