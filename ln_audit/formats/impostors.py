"""Files that are not what their name says, called what they are: a Git LFS pointer is no `header too large`."""

from __future__ import annotations

import re
from typing import NamedTuple

from ln_audit.errors import FormatError
from ln_audit.formats.shown import shown

SNIFFED = 512  # bytes of a file's beginning that are looked at; a Git LFS pointer is shorter than this by specification


class Impostor(NamedTuple):
    """What a file really is, and the way out."""

    what: str
    hint: str


_DOWNLOAD_AGAIN = "download the file again; a server answered with a page or an error instead of the file"
_LFS = re.compile(rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/")
_LFS_SIZE = re.compile(rb"^size (\d{1,19})\s*$", re.MULTILINE)
_PATH = re.compile(rb"\.{0,2}/[\x20-\x7e]+\s*")
_XET_SIZE = re.compile(rb"^filesize = (\d{1,19})\s*$", re.MULTILINE)

# First bytes of other formats. They are looked at only once a file has failed to be what it should: safetensors with a
# header of 640 bytes begins like a pickle (80 02).
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"GGUF", "a GGUF file"),
    (b"lmgg", "a GGML file, older than GGUF"),  # the magic numbers are words in little-endian order
    (b"fmgg", "a GGMF file, older than GGUF"),
    (b"tjgg", "a GGJT file, older than GGUF"),
    (b"PK\x03\x04", "a zip archive (PyTorch, npz and Keras files are)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x80\x02", "a Python pickle (an old PyTorch file)"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras, TensorFlow)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x1f\x8b", "a gzip stream"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard stream"),
)


def identify(prefix: bytes, size: int) -> Impostor | None:
    """What a file beginning with `prefix`, `size` bytes long, is instead of a checkpoint; None if it is not known."""
    return placeholder(prefix, size) or _other_format(prefix[:SNIFFED])


def placeholder(prefix: bytes, size: int) -> Impostor | None:
    """What stands in a file's place without being a model of any format: nothing, a pointer, a page; None otherwise."""
    if size == 0:
        return Impostor("an empty file (0 bytes)", "download or copy the file again; the disk may have been full")
    head = prefix[:SNIFFED]
    return _pointer(head) or _link(head, size) or _page(head)


def refuse(file: str, prefix: bytes, size: int, expected: str) -> None:
    """Raises `FormatError` if the file is a known impostor; returns if it is not."""
    found = identify(prefix, size)
    if found is not None:
        raise FormatError(f"{file}: expected {expected}, found {found.what}", hint=found.hint)


def _pointer(head: bytes) -> Impostor | None:
    """A few lines of text that stand for the file in a Git repository.

    Sources: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md; git-xet: `# xet version 0`, `filesize = N`.
    """
    if _LFS.match(head):
        return Impostor(
            f"a Git LFS pointer to {_sized(_LFS_SIZE.search(head))}", "run `git lfs pull` to get the file itself"
        )
    if head.startswith(b"# xet version"):
        return Impostor(f"a Git Xet pointer to {_sized(_XET_SIZE.search(head))}", "download the file itself")
    return None


def _sized(match: re.Match[bytes] | None) -> str:
    return "a file of unknown size" if match is None else f"a file of {int(match[1]):,} bytes"


def _link(head: bytes, size: int) -> Impostor | None:
    """A symbolic link that a copy without links (Git on Windows, an archive) left as a text file holding the target."""
    if size != len(head) or not _PATH.fullmatch(head):
        return None
    return Impostor(
        f"a link written out as text, to {shown(head.decode().strip())}", "copy the file that the link meant"
    )


def _page(head: bytes) -> Impostor | None:
    """A server's answer saved under the file's name."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<!--")):
        return Impostor("an HTML page", _DOWNLOAD_AGAIN)
    if text.startswith((b"<?xml", b"<error>")):
        return Impostor("an XML document", _DOWNLOAD_AGAIN)
    if text.startswith((b'{"', b"{\n", b"{ ", b"{\r")):
        kind = "a JSON error message" if b'"error' in text or b'"message"' in text else "a JSON document"
        return Impostor(kind, _DOWNLOAD_AGAIN)
    if text.startswith(
        (b"entry not found", b"not found", b"access to model", b"invalid username", b"repository not found")
    ):
        return Impostor(f"an error message: {text[:60].decode('ascii', 'replace').splitlines()[0]}", _DOWNLOAD_AGAIN)
    return None


def _other_format(head: bytes) -> Impostor | None:
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return Impostor(what, "name the file by what it is, or export the model to the format of its name")
    if len(head) >= 8 and not any(head):
        return Impostor(
            "only zero bytes at its beginning", "download the file again; its space was reserved but never filled"
        )
    return None
