"""GGUF, the format of llama.cpp: typed key-value pairs, a table of tensors, then the tensors, aligned.

Versions 2 and 3 in either byte order. Plain tensors come back as they are stored, little-endian; quantized ones (a norm
is so by accident only) dequantized to float32, with `exact=False`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Declared, Range, Stored
from ln_audit.errors import UnsupportedError
from ln_audit.formats import gguf_header, gguf_parts, gguf_quants
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.gguf_header import Entry, Header

NAME = "gguf"
SUFFIXES: tuple[str, ...] = (".gguf",)
FIRST = "model.gguf"  # no loader looks for a name of its own; this is what converters write if not told otherwise


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be GGUF, of whatever version."""
    return prefix.startswith(gguf_header.MAGIC)


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The file, or the set of parts whose first it is; values are read when asked for. Raises `FormatError`."""
    header = gguf_header.read_header(source, file)
    split = gguf_parts.read_split(header)
    if split is None:
        return _checkpoint(source, header)

    def read_part(name: str, number: int) -> Checkpoint:
        part = gguf_header.read_header(source, name)
        gguf_parts.check_part(part, number, split.parts)
        return _checkpoint(source, part)

    names = gguf_parts.part_names(file, split)
    return gguf_parts.read_parts(source, _checkpoint(source, header), names, split, read_part)


def _checkpoint(source: Source, header: Header) -> Checkpoint:
    return Checkpoint(
        format=NAME,
        files=(header.file,),
        tensors=MappingProxyType({name: entry.info(name) for name, entry in header.tensors.items()}),
        read=_reader(source, header),
        read_beginning=lambda name, count: _beginning(source, header, name, count),
        dequantizes=gguf_quants.readable(big_endian=header.byte_order == "big"),
        declared=tuple(Declared(key, value, header.file) for key, value in header.values.items() if value is not None),
    )


def _beginning(source: Source, header: Header, name: str, count: int) -> bytes:
    begin, end = header.tensors[name].range
    return source.read(header.file, [Range(begin, min(end, begin + count))])[0]


def _reader(source: Source, header: Header) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One call of `source.read`, in file order, so that the source can join neighbours."""
        ordered = sorted(dict.fromkeys(names), key=lambda name: header.tensors[name].range)
        parts = source.read(header.file, [header.tensors[name].range for name in ordered])
        return {
            name: _stored(header, f"{header.file}: {shown(name)}", header.tensors[name], data)
            for name, data in zip(ordered, parts, strict=True)
        }

    return read


def _stored(header: Header, where: str, entry: Entry, data: bytes) -> Stored:
    """The tensor's bytes, in little-endian order."""
    kind = entry.type
    big = header.byte_order == "big"
    if kind.plain:
        return Stored(kind.name, entry.shape, _swapped(data, kind.nbytes) if big else data)
    if big:  # some writers swap the scales inside the blocks and some do not; nothing in the file tells which
        raise UnsupportedError(f"{where}: expected plain values in a big-endian file, found {kind.name}")
    return Stored("F32", entry.shape, gguf_quants.dequantized(data, kind, entry.shape, where), exact=False)


def _swapped(data: bytes, width: int) -> bytes:
    """The other byte order, `width` bytes a value."""
    swapped = bytearray(len(data))
    for i in range(width):
        swapped[i::width] = data[width - 1 - i :: width]
    return bytes(swapped)
