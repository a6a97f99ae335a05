"""The members of a zip archive, read by range: its directory from the end of the file, then only what is asked for.

`zipfile` needs the file as a stream and lets pass what two readers understand differently. Here one reading is possible
or none: nothing before the first member and behind the end, each name once, no member inside another, and each where
and what the directory says.
Format: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to 4.3.16 (its end).
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.core import Source

MAX_MEMBERS = 100_000  # each takes some 400 bytes of memory
MAX_DIRECTORY = 16_000_000  # bytes
LOCAL, CENTRAL, END, END64, LOCATOR64 = b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"
STORED, DEFLATED = 0, 8
_LOCAL = struct.Struct(
    "<4s5H3L2H"
)  # …, flags [2], method [3], …, packed size, size, name length [9], extra length [10]
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")  # signature, disks 2, members 2, directory size, directory offset, comment length
_END64 = struct.Struct("<4sQ2H2L4Q")  # signature, size of the rest, versions 2, disks 2, members 2, size, offset
_LOCATOR64 = struct.Struct("<4sLQL")
_TAIL = 65_535 + _END.size + _LOCATOR64.size + _END64.size  # a comment of any length, and what precedes it
_WITH_DESCRIPTOR, _ENCRYPTED = 8, 1 | 64  # flags


class Member(NamedTuple):
    """One member as the directory has it. `offset` is that of its local header, `limit` where the next thing begins."""

    name: str
    method: int
    packed: int
    size: int
    crc: int
    offset: int
    limit: int


class Archive:
    """An archive whose directory was read and found sound."""

    def __init__(self, source: Source, file: str, members: Mapping[str, Member]) -> None:
        self.source = source
        self.file = file
        self.members = members
        self._starts: dict[str, int] = {}

    def read(self, wanted: Sequence[tuple[Member, Range]], at_most: int) -> list[bytes]:
        """Bytes of members, counted in their unpacked form; packed ones are unpacked up to `at_most` bytes altogether.

        A member read whole is held against its CRC-32, unless that is 0: PyTorch can be told to write none.
        Raises `FormatError`.
        """
        self._bounded([member for member, _ in wanted], at_most)
        starts = self._located([member for member, _ in wanted])
        parts = self.source.read(self.file, [self._range(member, starts, range_) for member, range_ in wanted])
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

    def whole(self, name: str, at_most: int) -> bytes:
        """One member's content. Raises `FormatError`, also where it is longer than `at_most`."""
        member = self.members[name]
        if member.size > at_most:
            raise UnsupportedError(
                f"{self.file}: {shown(name)}: expected at most {at_most:,} bytes, found {member.size:,}"
            )
        return self.read([(member, Range(0, member.size))], at_most)[0]

    def _range(self, member: Member, starts: Mapping[str, int], range_: Range) -> Range:
        start = starts[member.name]
        if member.method == DEFLATED:
            return Range(start, start + member.packed)
        return Range(start + range_.begin, start + range_.end)

    def _located(self, members: Sequence[Member]) -> Mapping[str, int]:
        """Where the content of each begins: behind its local header, whose length only the header itself knows."""
        new = [member for member in dict.fromkeys(members) if member.name not in self._starts]
        names = [member.name.encode() for member in new]
        ends = [member.offset + _LOCAL.size + len(name) for member, name in zip(new, names, strict=True)]
        headers = self.source.read(
            self.file, [Range(member.offset, min(end, member.limit)) for member, end in zip(new, ends, strict=True)]
        )
        for member, name, header in zip(new, names, headers, strict=True):
            self._starts[member.name] = self._start(member, name, header)
        return self._starts

    def _start(self, member: Member, name: bytes, header: bytes) -> int:
        if len(header) < _LOCAL.size or header[:4] != LOCAL:
            raise self._fault(member, "its local header", ascii(header[:4].decode("latin-1")))
        fields = _LOCAL.unpack_from(header)
        flags, method, packed, size = fields[2], fields[3], fields[7], fields[8]
        if header[_LOCAL.size :] != name or fields[9] != len(name):
            raise self._fault(member, "the same name in its local header", "another")
        if method != member.method or flags & _ENCRYPTED:
            raise self._fault(member, f"method {member.method} in its local header", f"{method}, flags {flags:#x}")
        if not flags & _WITH_DESCRIPTOR and (packed, size) not in {(member.packed, member.size), (2**32 - 1,) * 2}:
            raise self._fault(member, f"sizes {member.packed:,} and {member.size:,}", f"{packed:,} and {size:,}")
        start = member.offset + _LOCAL.size + int(fields[9]) + int(fields[10])
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


def open_archive(source: Source, file: str) -> Archive:
    """The archive's members. Raises `FormatError` for all that could be read in two ways, and what is too large."""
    size = source.size(file)
    begin = max(0, size - _TAIL)
    tail = source.read(file, [Range(begin, size)])[0]
    count, directory = _end(tail, begin, file)
    if count > MAX_MEMBERS or directory.end - directory.begin > MAX_DIRECTORY:
        raise UnsupportedError(
            f"{file}: zip directory: expected at most {MAX_MEMBERS:,} members in {MAX_DIRECTORY:,} bytes, found {count:,} "
            f"in {directory.end - directory.begin:,}"
        )
    held = tail[directory.begin - begin : directory.end - begin] if directory.begin >= begin else None
    data = source.read(file, [directory])[0] if held is None else held
    return Archive(source, file, _members(data, count, directory.begin, file))


def _end(tail: bytes, begin: int, file: str) -> tuple[int, Range]:
    """Number of members and the directory's place, from the end record and its 64-bit form before it."""
    at = tail.rfind(END)
    while at >= 0 and at + _END.size + int.from_bytes(tail[at + 20 : at + 22], "little") != len(tail):
        at = tail.rfind(END, 0, at)
    if at < 0:
        raise FormatError(
            f"{file}: expected a zip archive's end record, found none",
            hint="the file was cut short, or something was appended to it; download or copy it again",
        )
    _, disk, first, here, count, size, offset, _ = _END.unpack_from(tail, at)
    if at >= _LOCATOR64.size and tail.startswith(LOCATOR64, at - _LOCATOR64.size):
        at -= _LOCATOR64.size + _END64.size
        wide = _end64(tail, at, begin, file)
        for narrow, value, largest in zip((here, count, size, offset), wide, (2**16, 2**16, 2**32, 2**32), strict=True):
            if narrow not in {value, largest - 1}:
                raise FormatError(
                    f"{file}: zip directory: expected one end, found two that differ: {narrow:,}, {value:,}"
                )
        here, count, size, offset = wide
    if disk or first or here != count:
        raise UnsupportedError(f"{file}: zip directory: expected one disk, found a part of several")
    if offset + size != begin + at:
        raise FormatError(
            f"{file}: zip directory: expected its end at byte {begin + at:,}, found {offset + size:,}",
            hint="the file was cut short, or something was put before the archive",
        )
    return count, Range(offset, offset + size)


def _end64(tail: bytes, at: int, begin: int, file: str) -> tuple[int, int, int, int]:
    _, _, place, _ = _LOCATOR64.unpack_from(tail, at + _END64.size) if at >= 0 else (0, 0, -1, 0)
    if place != begin + at or not tail.startswith(END64, at):
        raise FormatError(f"{file}: zip directory: expected its 64-bit end at byte {begin + at:,}, found {place:,}")
    _, rest, _, _, disk, first, here, count, size, offset = _END64.unpack_from(tail, at)
    if rest != _END64.size - 12 or disk or first:
        raise UnsupportedError(f"{file}: zip directory: expected a plain 64-bit end, found {rest:,} bytes of it")
    return here, count, size, offset


def _members(data: bytes, count: int, begin: int, file: str) -> Mapping[str, Member]:
    """The directory's entries by name; each ends where the next one, or the directory at `begin`, begins."""
    found = list(_entries(data, count, file))
    found.sort(key=lambda member: member.offset)
    if found and found[0].offset:
        raise FormatError(f"{file}: expected its first member at byte 0, found it at {found[0].offset:,}")
    members: dict[str, Member] = {}
    for index, member in enumerate(found):
        limit = found[index + 1].offset if index + 1 < len(found) else begin
        if member.name in members:
            raise FormatError(f"{file}: {shown(member.name)}: expected one member of that name, found two")
        if member.offset + _LOCAL.size + len(member.name.encode()) + member.packed > limit:
            raise FormatError(
                f"{file}: {shown(member.name)}: expected its end before byte {limit:,}, found {member.packed:,} bytes "
                f"from {member.offset:,}: members overlap"
            )
        members[member.name] = member._replace(limit=limit)
    return members


def _entries(data: bytes, count: int, file: str) -> Iterator[Member]:
    at = 0
    for _ in range(count):
        if len(data) - at < _CENTRAL.size or not data.startswith(CENTRAL, at):
            raise FormatError(f"{file}: zip directory byte {at:,}: expected an entry, found none of {count:,}")
        fields = _CENTRAL.unpack_from(data, at)
        name_end = at + _CENTRAL.size + fields[10]
        extra_end = name_end + fields[11]
        yield _entry(fields, data[at + _CENTRAL.size : name_end], data[name_end:extra_end], file)
        at = extra_end + fields[12]
    if at != len(data):
        raise FormatError(
            f"{file}: zip directory: expected {count:,} entries in {len(data):,} bytes, found {at:,} bytes"
        )


def _entry(fields: tuple[int, ...], raw: bytes, extra: bytes, file: str) -> Member:
    try:
        name = raw.decode()
    except UnicodeDecodeError as cause:
        raise FormatError(f"{file}: zip directory: expected names in UTF-8, found {shown(raw)}") from cause
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in name.split("/"):
        raise FormatError(f"{file}: {shown(name)}: expected a name inside the archive, found a path out of it")
    flags, method, crc, packed, size, offset = (*(fields[i] for i in (3, 4, 7, 8, 9)), fields[16])
    if flags & _ENCRYPTED:
        raise UnsupportedError(f"{file}: {shown(name)}: expected a readable member, found an encrypted one")
    if method not in {STORED, DEFLATED}:
        raise UnsupportedError(f"{file}: {shown(name)}: expected a stored or deflated member, found method {method}")
    wide = _zip64(extra)
    values = [int(next(wide, -1)) if value == 2**32 - 1 else value for value in (size, packed, offset)]
    if min(values) < 0 or (method == STORED and values[0] != values[1]):
        raise FormatError(f"{file}: {shown(name)}: expected a member's sizes and place, found {values}")
    return Member(name, method, values[1], values[0], crc, values[2], 0)


def _zip64(extra: bytes) -> Iterator[int]:
    """The 64-bit numbers of an entry that has any, in the order size, packed size, offset."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            yield from (value for (value,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]))
            return
        at += 4 + length
