"""The directory of a zip archive, read from the end of the file, and its members as it has them.

`zipfile` needs the file as a stream and lets pass what two readers understand differently. Here one reading is possible
or none: nothing before the first member and behind the end, each name once, no member inside another.
Format: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.12 (directory) and 4.3.14 to 4.3.16 (its end).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.core import Source

MAX_MEMBERS = 100_000  # each takes some 400 bytes of memory
MAX_DIRECTORY = 16_000_000  # bytes
CENTRAL, END, END64, LOCATOR64 = b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"
LOCAL_SIZE = 30  # bytes of a member's local header without its name
STORED, DEFLATED = 0, 8
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")  # signature, disks 2, members 2, directory size, directory offset, comment length
_END64 = struct.Struct("<4sQ2H2L4Q")  # signature, size of the rest, versions 2, disks 2, members 2, size, offset
_LOCATOR64 = struct.Struct("<4sLQL")
_TAIL = 65_535 + _END.size + _LOCATOR64.size + _END64.size  # a comment of any length, and what precedes it
ENCRYPTED = 1 | 32 | 64 | 8192  # flags: encrypted, patched, strongly encrypted, masked
_FOLDER = 16  # of the attributes: a reader that goes by it (miniz, PyTorch's) finds no content


class Member(NamedTuple):
    """One member as the directory has it. `offset` is that of its local header, `limit` where the next thing begins."""

    name: str
    method: int
    packed: int
    size: int
    crc: int
    offset: int
    limit: int


class Held:
    """A file of which some pieces have been read already: those are not asked for again."""

    def __init__(self, source: Source, file: str, prefix: bytes) -> None:
        self.source = source
        self.file = file
        self.size = source.size(file)
        self._pieces = [(0, prefix)]

    def read(self, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range. Raises `SourceError`."""
        found = [self._piece(range_) for range_ in ranges]
        missing = [range_ for range_, piece in zip(ranges, found, strict=True) if piece is None]
        brought = iter(self.source.read(self.file, missing) if missing else ())
        return [next(brought) if piece is None else piece for piece in found]

    def tail(self, at_most: int) -> bytes:
        """The last bytes of the file, kept."""
        begin = max(0, self.size - at_most)
        data = self.read([Range(begin, self.size)])[0]
        self._pieces.append((begin, data))
        return data

    def _piece(self, range_: Range) -> bytes | None:
        for begin, data in self._pieces:
            if begin <= range_.begin and range_.end <= begin + len(data):
                return data[range_.begin - begin : range_.end - begin]
        return None


def read_directory(held: Held) -> Mapping[str, Member]:
    """The members by name. Raises `FormatError` for all that could be read in two ways, and what is too large."""
    file = held.file
    tail = held.tail(_TAIL)
    count, directory = _end(tail, held.size - len(tail), file)
    if count > MAX_MEMBERS or directory.end - directory.begin > MAX_DIRECTORY:
        raise UnsupportedError(
            f"{file}: zip directory: expected at most {MAX_MEMBERS:,} members in {MAX_DIRECTORY:,} bytes, found {count:,} "
            f"in {directory.end - directory.begin:,}"
        )
    return _members(held.read([directory])[0], count, directory.begin, file)


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
        if member.offset + LOCAL_SIZE + len(member.name.encode()) + member.packed > limit:
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
    if flags & ENCRYPTED:
        raise UnsupportedError(f"{file}: {shown(name)}: expected a readable member, found an encrypted one")
    if method not in {STORED, DEFLATED}:
        raise UnsupportedError(f"{file}: {shown(name)}: expected a stored or deflated member, found method {method}")
    if fields[13] or (fields[15] & _FOLDER and size):
        kind = "a part on another disk" if fields[13] else "a folder with content"
        raise UnsupportedError(f"{file}: {shown(name)}: expected a file of this archive, found {kind}")
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
