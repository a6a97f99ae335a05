"""How a checkpoint is laid out in bytes: which artifact a target means, and the reader for it.

A new format is one module with what `Format` asks for, and one line in `FORMATS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors, safetensors
from ln_audit.formats.assembly import INDEX_SUFFIX, read_sharded
from ln_audit.formats.loader_order import Choice, choose, listed
from ln_audit.formats.unread import unread_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.core import Checkpoint, Source

__all__ = ["FORMATS", "Artifact", "Format", "find_artifacts", "read_checkpoint"]


class Format(Protocol):
    """What a module of this folder has to have to be a format; the module is the object, so it writes no `self`."""

    NAME: str  # as in the report: safetensors
    SUFFIXES: tuple[str, ...]  # of its files; a shard index is named like the file, with `.index.json` behind it
    FIRST: str  # the file that loaders take before all others: model.safetensors

    def recognises(self, prefix: bytes, /) -> bool:
        """Whether a file that begins with these bytes can be of this format."""

    def read_checkpoint(self, source: Source, file: str, /) -> Checkpoint:
        """One file. Raises `FormatError`."""


FORMATS: tuple[Format, ...] = (safetensors,)  # in the order of the loader, transformers' `from_pretrained`


@dataclass(frozen=True, slots=True)
class Artifact:
    """One self-contained checkpoint of a target: its weights file, or the index of its shards.

    `beside` are the weights of the same folder that a loader would not take, as far as listing them cost nothing.
    """

    format: str
    file: str
    beside: tuple[str, ...] = ()


def find_artifacts(source: Source) -> tuple[Artifact, ...]:
    """The artifacts that a target means, in loader order; at least one.

    A remote repository is not listed if the file is there that loaders look for first. Raises `FormatError` when there
    is nothing to read, `UnsupportedError` when there is only what this version does not read.
    """
    if source.entry is not None:
        return (_named(source, source.entry),)
    remote = source.kind in ("hub", "http")
    for format_ in FORMATS if remote else ():
        for file in (format_.FIRST, format_.FIRST + INDEX_SUFFIX):
            if source.exists(file):
                return (Artifact(format_.NAME, file),)
    names = source.files() or ()
    for format_ in FORMATS:
        choice = choose(names, format_.FIRST, format_.SUFFIXES)
        if choice.files:
            return _artifacts(format_, choice)
    raise _nothing(source, names)


def read_checkpoint(source: Source, artifact: Artifact) -> Checkpoint:
    """The artifact's headers, checked; values are read when asked for. Raises `FormatError` and `SourceError`."""
    format_ = {known.NAME: known for known in FORMATS}[artifact.format]
    if artifact.file.endswith(INDEX_SUFFIX):
        checkpoint = read_sharded(source, artifact.file, format_.read_checkpoint)
    else:
        checkpoint = format_.read_checkpoint(source, artifact.file)
    return replace(checkpoint, beside=tuple(name for name in artifact.beside if name not in checkpoint.files))


def _artifacts(format_: Format, choice: Choice) -> tuple[Artifact, ...]:
    return tuple(Artifact(format_.NAME, file, choice.beside) for file in choice.files)


def _named(source: Source, file: str) -> Artifact:
    """The one file the user named, by its name if that says enough, else by its first bytes."""
    for format_ in FORMATS:
        if file.removesuffix(INDEX_SUFFIX).endswith(format_.SUFFIXES):
            return Artifact(format_.NAME, file)
    prefix = source.read_prefix(file, impostors.SNIFFED)
    size = source.size(file)
    other = unread_format(file.removesuffix(INDEX_SUFFIX))
    if other is not None:
        raise _unread(file, other, prefix, size)
    for format_ in FORMATS:
        if format_.recognises(prefix):
            return Artifact(format_.NAME, file)
    impostors.refuse(file, prefix, size, "a checkpoint")
    raise FormatError(
        f"{file}: expected a checkpoint in {_formats()}, found {size:,} bytes of an unknown format",
        hint="name the folder, the weights file or the shard index",
    )


def _nothing(source: Source, names: Sequence[str]) -> FormatError:
    """Why a folder holds nothing that can be read."""
    for name in names:
        other = unread_format(name.removesuffix(INDEX_SUFFIX)) if "/" not in name else None
        if other is not None:
            return _unread(name, other, source.read_prefix(name, impostors.SNIFFED), source.size(name))
    looked_for = " or ".join(f"{format_.FIRST} or {format_.FIRST}{INDEX_SUFFIX}" for format_ in FORMATS)
    return FormatError(
        f"{source.identity}: expected {looked_for}, found {listed(names)}",
        hint="weights in a folder further down are read when that folder or file is named" if names else "",
    )


def _unread(file: str, other: str, prefix: bytes, size: int) -> FormatError:
    """A file of a format that this version does not read, or what it is instead of that."""
    found = impostors.placeholder(prefix, size)
    if found is not None:
        return FormatError(f"{file}: expected {other}, found {found.what}", hint=found.hint)
    return UnsupportedError(
        f"{file}: expected {_formats()}, found {other}, which this version does not read",
        hint="audit the safetensors file that the model was converted from or to",
    )


def _formats() -> str:
    return ", ".join(format_.NAME for format_ in FORMATS)
