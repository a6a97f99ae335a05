"""npz archives: NumPy's own, MLX's `weights.npz`, Flax's and JAX's. Names stay as they are stored.

An archive is a zip of .npy arrays; stored members are read by range, compressed ones up to a bound, and the CRC-32 of each
array that is read is held.
"""

from __future__ import annotations

import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors, npy_header
from ln_audit.formats.shown import shown
from ln_audit.formats.zip_directory import DEFLATED, LOCAL_SIZE, Member
from ln_audit.formats.zip_members import Archive, open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.npy_header import NpyHeader

NAME = "npz"
SUFFIXES: tuple[str, ...] = (".npz",)
FIRST = "weights.npz"  # MLX's name
MAX_ARRAYS = 16_384
MAX_INFLATED = 134_217_728  # bytes that compressed arrays may grow to in one call; a stored one costs what the file has
_NPY = ".npy"
_BEFORE_OUTPUT = (
    1_152  # bytes of a compressed member that may come before its first byte: fields of its header, code tables
)


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be an archive of arrays: its first member is named like one."""
    name = prefix[LOCAL_SIZE : LOCAL_SIZE + int.from_bytes(prefix[26:28], "little")]
    return prefix.startswith(b"PK\x03\x04") and name.endswith(_NPY.encode())


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The archive as a checkpoint; values are read when asked for. Raises `FormatError`."""
    prefix = source.read_prefix(file, impostors.SNIFFED)
    if not prefix.startswith(b"PK"):
        impostors.refuse(file, prefix, source.size(file), "an npz archive")
    archive = open_archive(source, file, prefix)
    held = {name.removesuffix(_NPY): member for name, member in archive.members.items() if name.endswith(_NPY)}
    if len(held) > MAX_ARRAYS:
        raise UnsupportedError(f"{file}: expected at most {MAX_ARRAYS:,} arrays, found {len(held):,}")
    headers = _headers(archive, held)
    tensors = {name: header.info(name) for name, header in headers.items() if header.dtype is not None}
    if not tensors:
        raise FormatError(f"{file}: expected arrays of numbers, found none among {len(archive.members)} members")
    return Checkpoint(
        format=NAME,
        files=(file,),
        tensors=MappingProxyType(tensors),
        read=_reader(archive, held, headers),
        declared=_left_aside(archive, tensors),
    )


def _headers(archive: Archive, members: Mapping[str, Member]) -> dict[str, NpyHeader]:
    """One read for all; one more for each that is longer than any numeric array's."""
    found: dict[str, NpyHeader] = {}
    heads = _heads(archive, list(members.values()), npy_header.USUAL)
    for (name, member), usual in zip(members.items(), heads, strict=True):
        where = f"{archive.file}: {shown(name)}"
        short = len(usual) < npy_header.header_length(usual, where) <= member.size
        head = _heads(archive, [member], npy_header.LONGEST)[0] if short else usual
        found[name] = npy_header.read_header(head, member.size, where)
    return found


def _heads(archive: Archive, members: Sequence[Member], at_most: int) -> list[bytes]:
    """The first bytes of each member's content; of a compressed one no more is unpacked than these."""
    stored = [member for member in members if member.method != DEFLATED]
    packed = [member for member in members if member.method == DEFLATED]
    found = dict(zip(stored, archive.read([(m, Range(0, min(m.size, at_most))) for m in stored], 0), strict=True))
    ends = [member.offset + LOCAL_SIZE + len(member.name.encode()) + _BEFORE_OUTPUT + at_most for member in packed]
    begun = archive.held.read([Range(m.offset, min(end, m.limit)) for m, end in zip(packed, ends, strict=True)])
    found |= {m: _unpacked(archive, m, begin, at_most) for m, begin in zip(packed, begun, strict=True)}
    return [found[member] for member in members]


def _unpacked(archive: Archive, member: Member, head: bytes, at_most: int) -> bytes:
    begin = LOCAL_SIZE + sum(int.from_bytes(head[at : at + 2], "little") for at in (26, 28))  # its name, more fields
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(head[begin:], at_most)
    except zlib.error as cause:
        raise FormatError(f"{archive.file}: {shown(member.name)}: expected deflated data, found {cause}") from cause


def _reader(
    archive: Archive, members: Mapping[str, Member], headers: Mapping[str, NpyHeader]
) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One read for all, in file order."""
        ordered = sorted(dict.fromkeys(names), key=lambda name: members[name].offset)
        _check_growth(archive.file, [members[name] for name in ordered])
        whole = [(members[name], Range(0, members[name].size)) for name in ordered]
        return {
            name: npy_header.stored(headers[name], content[headers[name].begin :], f"{archive.file}: {shown(name)}")
            for name, content in zip(ordered, archive.read(whole, MAX_INFLATED), strict=True)
        }

    return read


def _check_growth(file: str, members: Sequence[Member]) -> None:
    grown = sum(max(member.size, member.packed) for member in members if member.method == DEFLATED)
    if grown > MAX_INFLATED:
        raise UnsupportedError(
            f"{file}: expected at most {MAX_INFLATED:,} bytes of compressed arrays, found {grown:,}",
            hint="store it uncompressed, as numpy.savez does, or as safetensors",
        )


def _left_aside(archive: Archive, tensors: Mapping[str, TensorInfo]) -> tuple[Declared, ...]:
    """Members that are no arrays of numbers."""
    others = [name for name in archive.members if name.removesuffix(_NPY) not in tensors]
    if not others:
        return ()
    return (Declared("members left aside", len(others), f"{archive.file}, for example {shown(others[0])}"),)
