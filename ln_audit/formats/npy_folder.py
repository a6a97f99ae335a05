"""A folder of .npy files, one array each: a file's path below the folder is the tensor's name."""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Range, Stored
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors, npy_header
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.npy_header import NpyHeader

NAME = "npy"
SUFFIXES: tuple[str, ...] = (".npy",)
FIRST = "ln_f.weight.npy"
MAX_FILES = 8_192  # each costs a request


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be an array."""
    return prefix.startswith(npy_header.MAGIC)


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """Every array in the folder of `file` and below it; only `file` itself where the user named it.

    Raises `FormatError`.
    """
    folder = posixpath.dirname(file)
    files = _files(source, file, folder)
    headers: dict[str, NpyHeader] = {}
    places: dict[str, str] = {}
    for held in files:
        name = posixpath.relpath(held, folder or ".").removesuffix(SUFFIXES[0])
        header = _header(source, held)
        if header.dtype is not None:
            headers[name], places[name] = header, held
    if not headers:
        raise FormatError(f"{file}: expected arrays of numbers, found none among {len(files)} files")
    return Checkpoint(
        format=NAME,
        files=tuple(places.values()),
        tensors=MappingProxyType({name: header.info(name) for name, header in headers.items()}),
        read=_reader(source, headers, places),
    )


def _files(source: Source, file: str, folder: str) -> list[str]:
    inside = f"{folder}/" if folder else ""
    names = [name for name in source.files() or (file,) if name.startswith(inside) and name.endswith(SUFFIXES)]
    if len(names) > MAX_FILES:
        raise UnsupportedError(f"{shown(folder or '.')}: expected at most {MAX_FILES:,} arrays, found {len(names):,}")
    return sorted(names)


def _header(source: Source, file: str) -> NpyHeader:
    head = source.read_prefix(file, npy_header.USUAL)
    size = source.size(file)
    if not recognises(head):
        impostors.refuse(file, head, size, "an array of NumPy")
    if len(head) < npy_header.header_length(head, file) <= size:
        head = source.read_prefix(file, npy_header.LONGEST)
    return npy_header.read_header(head, size, file)


def _reader(
    source: Source, headers: Mapping[str, NpyHeader], places: Mapping[str, str]
) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        found: dict[str, Stored] = {}
        for name in dict.fromkeys(names):
            header = headers[name]
            data = source.read(places[name], [Range(header.begin, header.begin + header.nbytes)])[0]
            found[name] = npy_header.stored(header, data, places[name])
        return found

    return read
