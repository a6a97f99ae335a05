"""How a checkpoint is laid out in bytes: which artifact a target means, and the reader for it.

A new format is one module with what `Reader` asks for, and one line in `FORMATS`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from ln_audit.errors import FormatError, SourceError, UnsupportedError
from ln_audit.formats import impostors
from ln_audit.formats.assembly import INDEX_SUFFIX, read_sharded
from ln_audit.formats.loader_order import Choice, choose, each_alone, listed, of_others, standard, standing_alone
from ln_audit.formats.unmerged import refuse_parts
from ln_audit.formats.unread import unread_format

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ln_audit.core import Checkpoint, Source

__all__ = ["FORMATS", "SUFFIXES", "Artifact", "Format", "Reader", "find_artifacts", "read_checkpoint"]


class Reader(Protocol):
    """What a module of this folder has to have to be a format; the module is the object, its functions have no `self`."""

    NAME: str  # as in the report: safetensors
    SUFFIXES: tuple[str, ...]
    FIRST: str

    def recognises(self, prefix: bytes, /) -> bool:
        """Whether a file that begins with these bytes can be of this format."""

    def read_checkpoint(self, source: Source, file: str, /) -> Checkpoint:
        """One file. Raises `FormatError`."""


class Format(NamedTuple):
    """A format's line in the registry; its module is imported when a file of it is read, and no sooner.

    `FIRST` is the name that loaders look for before all others, empty where every file stands for itself; a shard index is
    named like the file, with `.index.json` behind it.
    """

    NAME: str
    module: str
    SUFFIXES: tuple[str, ...]
    FIRST: str = ""
    together: bool = False  # the files of a folder are one checkpoint
    only_models: bool = False  # nobody keeps data under this suffix: several files are several models

    @property
    def reader(self) -> Reader:
        """The module."""
        return cast("Reader", import_module(f"ln_audit.formats.{self.module}"))

    def choose(self, names: Sequence[str], data: Collection[str] = ()) -> Choice:
        """Which files of a folder are artifacts of this format; those of `data` are none."""
        others = tuple(
            s for each in FORMATS if each.NAME != self.NAME and each.NAME not in _LOOSE for s in each.SUFFIXES
        )
        if self.together:
            held = [name for name in names if name.endswith(self.SUFFIXES)]
            return Choice(tuple(held[:1]), tuple(of_others(names, held, others)))
        if self.FIRST:
            return choose(names, self.FIRST, self.SUFFIXES, others, data)
        return each_alone(names, self.SUFFIXES, others, only_models=self.only_models)


# In the order in which transformers' `from_pretrained` and then everyone else would look.
FORMATS: tuple[Format, ...] = (
    Format("safetensors", "safetensors", (".safetensors",), "model.safetensors"),
    Format("pytorch", "torch_pickle", (".bin", ".pt", ".pth", ".ckpt"), "pytorch_model.bin"),
    Format("gguf", "gguf", (".gguf",), only_models=True),
    Format("onnx", "onnx", (".onnx",), only_models=True),
    Format("tensorflow", "tf_bundle", (".index",)),
    Format("keras", "keras", (".keras", ".h5")),
    Format("npz", "npz", (".npz",)),
    Format("npy", "npy_folder", (".npy",), together=True),
)
SUFFIXES = tuple(suffix for each in FORMATS for suffix in each.SUFFIXES)
_LOOSE = ("npz", "npy")  # arrays of all sorts lie beside models; only where nothing else is they are one
_ANYTHING = ".bin"  # PyTorch's suffix and that of token files, of OpenVINO, of GGML, of the external data of ONNX
_SAVED = re.compile(rb"PK|\x80[\x01-\x05]")  # a zip archive or a pickle


class Artifact(NamedTuple):
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
    for format_ in (
        each for each in FORMATS[:2] if remote
    ):  # what loaders ask for by name; the rest shows in a listing
        for file in (format_.FIRST, format_.FIRST + INDEX_SUFFIX):
            if source.exists(file):
                return (Artifact(format_.NAME, file),)
    names = source.files() or ()
    refuse_parts(source, names)
    format_, choice = _choose(source, names)
    if not choice.files:
        raise _nothing(source, names)
    return tuple(Artifact(format_.NAME, file, choice.beside) for file in choice.files)


def read_checkpoint(source: Source, artifact: Artifact) -> Checkpoint:
    """The artifact's headers, checked; values are read when asked for. Raises `FormatError` and `SourceError`."""
    format_ = _called(artifact.format)
    if artifact.file.endswith(INDEX_SUFFIX):
        checkpoint = read_sharded(source, artifact.file, format_.reader.read_checkpoint)
    else:
        checkpoint = format_.reader.read_checkpoint(source, artifact.file)
    return replace(checkpoint, beside=tuple(name for name in artifact.beside if name not in checkpoint.files))


def _choose(source: Source, names: Sequence[str]) -> tuple[Format, Choice]:
    """The format that a folder is read as, and which of its files; no file where there is nothing to read."""
    for format_ in FORMATS:  # a name that is asked for goes before any file that merely is there, of whatever format
        if standard(names, format_.FIRST) is not None:
            return format_, format_.choose(names)
    for format_ in FORMATS:
        choice = format_.choose(names, _data(source, names) if _ANYTHING in format_.SUFFIXES else ())
        if choice.files:
            return format_, choice
    torch = _called("pytorch")  # what may be data is all there is: its reader says what it is
    return torch, torch.choose(names)


def _called(name: str) -> Format:
    return {known.NAME: known for known in FORMATS}[name]


def _data(source: Source, names: Sequence[str]) -> list[str]:
    """The `.bin` files that PyTorch did not write, by their first bytes.

    What stands in for a file that is still to be downloaded remains a candidate, and so does what cannot be read: to pass
    over it would be a verdict on the wrong model. Beside an ONNX model it may as well be that one's external data, whose
    reader names it.
    """
    torch = _called("pytorch").reader
    exported = any(name.endswith(".onnx") and "/" not in name for name in names)
    data = []
    for name in standing_alone(names, _ANYTHING):
        try:
            prefix = source.read_prefix(name, impostors.SNIFFED)
            missing = impostors.placeholder(prefix, source.size(name)) is not None
        except SourceError:
            continue
        if not (torch.recognises(prefix) or (not exported and (missing or _SAVED.match(prefix)))):
            data.append(name)
    return data


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
        if format_.reader.recognises(prefix):
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
    looked_for = ", ".join(format_.FIRST or f"*{format_.SUFFIXES[0]}" for format_ in FORMATS)
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
