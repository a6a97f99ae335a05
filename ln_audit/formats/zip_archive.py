"""Members of a zip archive by range: npz, Keras and PyTorch files are such. Nothing is unpacked to disk, no name obeyed.

`zipfile` reads the directory; what it forgives (bytes before and behind the archive, two members of one name, members that
lie over each other) is refused here, because then two readers see two archives.
Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.core import Source

TAIL = 65_536  # bytes at the end that are read at once: they hold the directory of most archives
MAX_DIRECTORY = 4_194_304  # bytes; 50,000 members
MAX_MEMBERS = 16_384
MAX_INFLATED = (
    134_217_728  # bytes that compressed members may grow to in one call; a stored one costs what the file has
)
END = 22  # bytes of the end record
LOCAL = struct.Struct("<4sHHHHHIIIHH")  # the header before each member: signature, …, length of name, length of extra
UTF_8 = 0x800  # the flag of names in UTF-8; others are in the code page of the first PC
USUAL_EXTRA = 128  # bytes between a member's header and its data: zip64 sizes, PyTorch's alignment
DEFLATE_HEAD = 1_024  # bytes of a compressed stream that may come before its first byte of output


class Member(NamedTuple):
    """One member: its header at byte `at`, `packed` bytes in the file, `size` bytes of content with this CRC-32."""

    name: str
    raw_name: bytes  # as the file spells it
    at: int
    packed: int
    size: int
    crc: int
    deflated: bool


class Archive(NamedTuple):
    """A zip archive with its directory read."""

    source: Source
    file: str
    members: Mapping[str, Member]
    size: int

    def prefixes(self, members: Sequence[Member], at_most: int) -> list[bytes]:
        """The first bytes of each member's content, shorter where it is. One read for all. Raises `FormatError`."""
        wanted = [min(m.packed, at_most + DEFLATE_HEAD if m.deflated else at_most) for m in members]
        found = self._packed(members, wanted)
        return [
            self._inflated(m, data, at_most) if m.deflated else data for m, data in zip(members, found, strict=True)
        ]

    def contents(self, members: Sequence[Member]) -> list[bytes]:
        """Each member's content, its CRC-32 held. One read for all. Raises `FormatError`, `UnsupportedError`."""
        grown = sum(member.size for member in members if member.deflated)
        if grown > MAX_INFLATED:
            raise UnsupportedError(
                f"{self.file}: expected at most {MAX_INFLATED:,} bytes of compressed members, found {grown:,}",
                hint="store it uncompressed, as numpy.savez does, or as safetensors",
            )
        found = self._packed(members, [member.packed for member in members])
        return [self._checked(member, data) for member, data in zip(members, found, strict=True)]

    def data_range(self, member: Member) -> Range:
        """Where a stored member's content lies in the file. Raises `UnsupportedError` for a compressed one."""
        if member.deflated:
            raise UnsupportedError(f"{self.file}: {shown(member.name)}: expected it stored, found it compressed")
        begin = self._begin(member, self.source.read(self.file, [self._head(member, 0)])[0])
        return Range(begin, begin + member.packed)

    def _head(self, member: Member, more: int) -> Range:
        """The member's header and, most likely, the first `more` bytes behind it."""
        return Range(member.at, min(self.size, member.at + LOCAL.size + len(member.raw_name) + USUAL_EXTRA + more))

    def _packed(self, members: Sequence[Member], wanted: Sequence[int]) -> list[bytes]:
        """The first `wanted` bytes of each member as they lie in the file."""
        heads = self.source.read(self.file, [self._head(m, more) for m, more in zip(members, wanted, strict=True)])
        found: list[bytes] = []
        for member, more, head in zip(members, wanted, heads, strict=True):
            begin = self._begin(member, head) - member.at
            if begin + more <= len(head):
                found.append(head[begin : begin + more])
            else:  # more between header and data than usual
                found += self.source.read(self.file, [Range(member.at + begin, member.at + begin + more)])
        return found

    def _begin(self, member: Member, head: bytes) -> int:
        """Where the member's data begin. Its own header has to say the same as the directory. Raises `FormatError`."""
        where = f"{self.file}: {shown(member.name)}"
        signature, _, flags, method, _, _, _, _, _, name, extra = LOCAL.unpack(head[: LOCAL.size])
        told = head[LOCAL.size : LOCAL.size + name]
        if signature != b"PK\3\4" or told != member.raw_name or method != 8 * member.deflated or flags & 1:
            raise FormatError(
                f"{where}: expected its header at byte {member.at:,}, found {head[:4]!r} and {shown(told)}"
            )
        begin: int = member.at + LOCAL.size + name + extra
        if begin + member.packed > self.size - END:
            raise FormatError(f"{where}: expected {member.packed:,} bytes at {begin:,}, found the archive's end")
        return begin

    def _checked(self, member: Member, data: bytes) -> bytes:
        content = self._inflated(member, data, member.size + 1) if member.deflated else data
        crc = zlib.crc32(content)
        if len(content) != member.size or crc != member.crc:
            raise FormatError(
                f"{self.file}: {shown(member.name)}: expected {member.size:,} bytes with CRC-32 {member.crc:#010x}, "
                f"found {len(content):,} with {crc:#010x}",
                hint="the file is damaged; download or copy it again",
            )
        return content

    def _inflated(self, member: Member, data: bytes, at_most: int) -> bytes:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, at_most)
        except zlib.error as cause:
            raise FormatError(f"{self.file}: {shown(member.name)}: expected deflated data, found {cause}") from cause


def open_archive(source: Source, file: str, what: str) -> Archive:
    """The archive in `file`, which should be `what`. Raises `FormatError`; nothing but the directory is read yet."""
    size = source.size(file)
    view = _View(source, file, size)
    end = view.tail[-END:]
    if len(end) < END or end[:4] != b"PK\5\6" or end[-2:] != b"\0\0":
        raise FormatError(
            f"{file}: expected {what}, a zip archive with its directory at the end, found {end[:4]!r} there",
            hint="the file was cut short, or something was appended to it",
        )
    try:
        with zipfile.ZipFile(view) as archive:
            infos, directory = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error, UnicodeError) as cause:
        problem = shown(str(cause)).strip("'\"")
        raise FormatError(
            f"{file}: expected a sound zip directory, found: {problem[:1].lower() + problem[1:]}"
        ) from cause
    count = int.from_bytes(end[10:12], "little")
    if count not in {len(infos), 0xFFFF}:  # the largest number stands for more, told elsewhere
        raise FormatError(f"{file}: zip directory: expected {count:,} members, found {len(infos):,}")
    return Archive(source, file, MappingProxyType(_members(infos, directory, file)), size)


def _members(infos: Sequence[zipfile.ZipInfo], directory: int, file: str) -> dict[str, Member]:
    """The directory's entries, in the order of the file, each whole and by itself. Raises `FormatError`."""
    if len(infos) > MAX_MEMBERS:
        raise UnsupportedError(f"{file}: expected at most {MAX_MEMBERS:,} members, found {len(infos):,}")
    found: dict[str, Member] = {}
    reached = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        name = info.orig_filename
        if info.flag_bits & 1 or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            how = "it encrypted" if info.flag_bits & 1 else f"method {info.compress_type}"
            raise UnsupportedError(f"{file}: {shown(name)}: expected it stored or deflated, found {how}")
        if name in found:
            raise FormatError(f"{file}: {shown(name)}: expected one member of that name, found two")
        deflated = info.compress_type == zipfile.ZIP_DEFLATED
        raw = name.encode("utf-8" if info.flag_bits & UTF_8 else "cp437")
        member = Member(name, raw, info.header_offset, info.compress_size, info.file_size, info.CRC, deflated)
        end = member.at + LOCAL.size + len(raw) + member.packed
        if member.at < reached or (not found and member.at) or end > directory:
            raise FormatError(
                f"{file}: {shown(name)}: expected a member at byte {reached:,}, found it at {member.at:,}"
            )
        if not deflated and member.packed != member.size:
            raise FormatError(f"{file}: {shown(name)}: expected {member.size:,} bytes stored, found {member.packed:,}")
        found[name], reached = member, end
    return found


class _View(RawIOBase):
    """The file as zipfile wants it; reads of a size that only a forged directory asks for are refused."""

    def __init__(self, source: Source, file: str, size: int) -> None:
        super().__init__()
        self._source, self._file, self._size, self._at = source, file, size, 0
        self.tail = source.read(file, [Range(max(0, size - TAIL), size)])[0]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        at = offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence]
        if at < 0:
            raise OSError("seek before the beginning")  # as a file of the operating system does; zipfile expects it
        self._at = at
        return at

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > max(MAX_DIRECTORY, len(self.tail)):
            raise UnsupportedError(
                f"{self._file}: expected a zip directory of {MAX_DIRECTORY:,} bytes at most, found {wanted:,}"
            )
        begin, tail = self._at, self._size - len(self.tail)
        self._at += wanted
        if begin >= tail:
            return self.tail[begin - tail : begin - tail + wanted]
        return self._source.read(self._file, [Range(begin, begin + wanted)])[0] if wanted else b""
