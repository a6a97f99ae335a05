"""The contents of a zip archive's members, read by range: only what is asked for, packed or not.

Format: APPNOTE.TXT 6.3.10 of PKWARE, section 4.3.7 (local header).
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown
from ln_audit.formats.zip_directory import DEFLATED, ENCRYPTED, LOCAL_SIZE, Held, read_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.zip_directory import Member

LOCAL = b"PK\3\4"
_LOCAL = struct.Struct(
    "<4s5H3L2H"
)  # …, flags [2], method [3], …, packed size, size, name length [9], extra length [10]
_WITH_DESCRIPTOR = 8  # flag: the sizes follow the data


class Archive:
    """An archive whose directory was read and found sound."""

    def __init__(self, held: Held, members: Mapping[str, Member]) -> None:
        self.held = held
        self.file = held.file
        self.members = members
        self._starts: dict[str, int] = {}

    def read(self, wanted: Sequence[tuple[Member, Range]], at_most: int) -> list[bytes]:
        """Bytes of members, counted in their unpacked form; packed ones are unpacked up to `at_most` bytes altogether.

        A member read whole is held against its CRC-32, unless that is 0: PyTorch can be told to write none.
        Raises `FormatError`.
        """
        self._bounded([member for member, _ in wanted], at_most)
        starts = self._located([member for member, _ in wanted])
        parts = self.held.read([self._range(member, starts, range_) for member, range_ in wanted])
        found = []
        for (member, range_), part in zip(wanted, parts, strict=True):
            packed = member.method == DEFLATED
            content = self._unpacked(member, part) if packed else part
            if len(content) == member.size:
                self._check(member, content)
            found.append(content[range_.begin : range_.end] if packed else content)
        return found

    def place(self, name: str) -> int:
        """The byte of the file at which a stored member's content begins. Raises `FormatError`."""
        member = self.members[name]
        if member.method == DEFLATED:
            raise UnsupportedError(f"{self.file}: {shown(name)}: expected a stored member, found a deflated one")
        return self._located([member])[name]

    def whole(self, limits: Mapping[str, int]) -> dict[str, bytes]:
        """Contents of members, in one read, each up to its limit in bytes. Raises `FormatError`."""
        for name, at_most in limits.items():
            found = self.members[name].size
            if found > at_most:
                raise UnsupportedError(
                    f"{self.file}: {shown(name)}: expected at most {at_most:,} bytes, found {found:,}"
                )
        wanted = [(self.members[name], Range(0, self.members[name].size)) for name in limits]
        return dict(zip(limits, self.read(wanted, sum(limits.values())), strict=True))

    def _range(self, member: Member, starts: Mapping[str, int], range_: Range) -> Range:
        start = starts[member.name]
        if member.method == DEFLATED:
            return Range(start, start + member.packed)
        return Range(start + range_.begin, start + range_.end)

    def _located(self, members: Sequence[Member]) -> Mapping[str, int]:
        """Where the content of each begins: behind its local header, whose length only the header itself knows."""
        new = [member for member in dict.fromkeys(members) if member.name not in self._starts]
        names = [member.name.encode() for member in new]
        ends = [member.offset + LOCAL_SIZE + len(name) for member, name in zip(new, names, strict=True)]
        headers = self.held.read(
            [Range(member.offset, min(end, member.limit)) for member, end in zip(new, ends, strict=True)]
        )
        for member, name, header in zip(new, names, headers, strict=True):
            self._starts[member.name] = self._start(member, name, header)
        return self._starts

    def _start(self, member: Member, name: bytes, header: bytes) -> int:
        if len(header) < LOCAL_SIZE or header[:4] != LOCAL:
            raise self._fault(member, "its local header", ascii(header[:4].decode("latin-1")))
        fields = _LOCAL.unpack_from(header)
        flags, method, packed, size = fields[2], fields[3], fields[7], fields[8]
        if header[LOCAL_SIZE:] != name or fields[9] != len(name):
            raise self._fault(member, "the same name in its local header", "another")
        if method != member.method or flags & ENCRYPTED:
            raise self._fault(member, f"method {member.method} in its local header", f"{method}, flags {flags:#x}")
        if not flags & _WITH_DESCRIPTOR and (packed, size) not in {(member.packed, member.size), (2**32 - 1,) * 2}:
            raise self._fault(member, f"sizes {member.packed:,} and {member.size:,}", f"{packed:,} and {size:,}")
        start = member.offset + LOCAL_SIZE + int(fields[9]) + int(fields[10])
        if start + member.packed > member.limit:
            raise self._fault(member, f"its end before byte {member.limit:,}", f"{start + member.packed:,}")
        return start

    def _bounded(self, members: Sequence[Member], at_most: int) -> None:
        packed = [member for member in members if member.method == DEFLATED]
        if sum(max(member.size, member.packed) for member in packed) > at_most:
            most = max(packed, key=lambda member: member.size)
            raise UnsupportedError(
                f"{self.file}: {shown(most.name)}: expected at most {at_most:,} bytes to unpack at a time, found "
                f"{most.size:,} in {len(packed):,} members",
                hint="save it again with PyTorch, which does not compress",
            )

    def _unpacked(self, member: Member, packed: bytes) -> bytes:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = unpacker.decompress(packed, member.size + 1)
        except zlib.error as cause:
            raise self._fault(member, "deflated data", str(cause)) from cause
        if len(data) != member.size or not unpacker.eof:
            raise self._fault(
                member, f"{member.size:,} unpacked bytes", f"{len(data):,}, {'no ' * (not unpacker.eof)}end"
            )
        return data

    def _check(self, member: Member, content: bytes) -> None:
        found = zlib.crc32(content)
        if member.crc not in {0, found}:
            raise self._fault(
                member, f"CRC-32 {member.crc:08x} as written in the directory", f"{found:08x}: it differs"
            )

    def _fault(self, member: Member, expected: str, found: str) -> FormatError:
        return FormatError(f"{self.file}: {shown(member.name)}: expected {expected}, found {found}")


def open_archive(source: Source, file: str, prefix: bytes = b"") -> Archive:
    """The archive, its directory read and found sound; `prefix` are its first bytes, if known. Raises `FormatError`."""
    held = Held(source, file, prefix)
    return Archive(held, read_directory(held))
