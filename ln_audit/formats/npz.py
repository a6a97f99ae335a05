"""npz archives: NumPy's own, MLX's `weights.npz`, Flax's and JAX's. Names stay as they are stored.

An archive is a zip of .npy arrays; stored members are read by range, compressed ones up to a bound, and the CRC-32 of each
one that is read is held.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Declared, Stored, TensorInfo
from ln_audit.errors import FormatError
from ln_audit.formats import impostors, npy_header
from ln_audit.formats.shown import shown
from ln_audit.formats.zip_archive import Archive, Member, open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.npy_header import NpyHeader

NAME = "npz"
SUFFIXES: tuple[str, ...] = (".npz",)
FIRST = "weights.npz"  # MLX's name
_NPY = ".npy"


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be an archive of arrays: its first member is named like one."""
    name = prefix[30 : 30 + int.from_bytes(prefix[26:28], "little")]
    return prefix.startswith(b"PK\x03\x04") and name.endswith(_NPY.encode())


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The archive as a checkpoint; values are read when asked for. Raises `FormatError`."""
    prefix = source.read_prefix(file, impostors.SNIFFED)
    if not prefix.startswith(b"PK"):
        impostors.refuse(file, prefix, source.size(file), "an npz archive")
    archive = open_archive(source, file, "an npz archive")
    arrays = [member for name, member in archive.members.items() if name.endswith(_NPY)]
    headers = dict(zip(map(_name, arrays), _headers(archive, arrays), strict=True))
    held = {_name(member): member for member in arrays}
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


def _name(member: Member) -> str:
    return member.name.removesuffix(_NPY)


def _headers(archive: Archive, members: Sequence[Member]) -> list[NpyHeader]:
    """One read for all; one more for each that is longer than any numeric array's."""
    found: list[NpyHeader] = []
    for member, usual in zip(members, archive.prefixes(members, npy_header.USUAL), strict=True):
        where = f"{archive.file}: {shown(_name(member))}"
        short = len(usual) < npy_header.header_length(usual, where) <= member.size
        head = archive.prefixes([member], npy_header.LONGEST)[0] if short else usual
        found.append(npy_header.read_header(head, member.size, where))
    return found


def _reader(
    archive: Archive, members: Mapping[str, Member], headers: Mapping[str, NpyHeader]
) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One read for all, in file order."""
        ordered = sorted(dict.fromkeys(names), key=lambda name: members[name].at)
        contents = archive.contents([members[name] for name in ordered])
        return {
            name: npy_header.stored(headers[name], content[headers[name].begin :], f"{archive.file}: {shown(name)}")
            for name, content in zip(ordered, contents, strict=True)
        }

    return read


def _left_aside(archive: Archive, tensors: Mapping[str, TensorInfo]) -> tuple[Declared, ...]:
    """Members that are no arrays of numbers."""
    others = [name for name in archive.members if name.removesuffix(_NPY) not in tensors]
    if not others:
        return ()
    return (Declared("members left aside", len(others), f"{archive.file}, for example {shown(others[0])}"),)
