"""HDF5 files as h5py writes them for Keras: groups, datasets in one piece, attributes of text. Read by range, bounded.

The HDF5 library is not used: every hundredth file with a few changed bytes keeps it busy for ever, and a file can make it
open others. What h5py writes by default is the first version of the format; later ones and chunks are refused with the reason.
Format: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import hdf5_header
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.formats.hdf5_header import Attribute

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SUPERBLOCK = 96  # bytes of its first version, with eight bytes to an address
PAGE = 16_384  # bytes read at once; HDF5 keeps what describes neighbouring objects together
MAX_PAGES = 1_024  # kept in memory
MAX_OBJECTS = 65_536
MAX_MESSAGES = 2_048  # of one object
MAX_MESSAGE = 65_536  # bytes: their size has two
MAX_DEPTH = 64
MAX_NAME = 1_024  # bytes
MAX_TEXT = 16_777_216  # bytes of all attributes; legacy files have the model's whole configuration in one
MAX_STEPS = 1_000_000  # over messages, links and objects of heaps: some two seconds


class Dataset(NamedTuple):
    """An array: `dtype` is safetensors' name, V2 for two bytes without a type, None for what is no number."""

    dtype: str | None
    big_endian: bool
    shape: tuple[int, ...]
    range: Range


class Contents(NamedTuple):
    """All arrays and all text attributes of a file, by their path; a file's own attributes stand under the empty path."""

    datasets: dict[str, Dataset]
    attributes: dict[str, dict[str, str]]


class Message(NamedTuple):
    """One piece of an object header."""

    kind: int
    data: bytes


def read_contents(read: Callable[[int, int], bytes], size: int, label: str) -> Contents:
    """Everything but the numbers. Raises `FormatError`, `UnsupportedError` for other versions of the format."""
    reader = _Reader(read, size, label)
    found = Contents({}, {})
    reader.walk("", reader.root(), found)
    return found


class _Reader:
    def __init__(self, read: Callable[[int, int], bytes], size: int, label: str) -> None:
        self.size = size
        self.label = label
        self._read = read
        self._pages: dict[int, bytes] = {}
        self._seen: set[int] = set()
        self._steps = MAX_STEPS
        self._text_left = MAX_TEXT

    def take(self, begin: int, end: int, what: str) -> bytes:
        """A few bytes. Raises `FormatError` where the file ends before them."""
        if end > self.size:
            raise FormatError(f"{self.label}: byte {begin:,}: expected {what}, found the file's end at {self.size:,}")
        parts = [self._page(number) for number in range(begin // PAGE, -(-end // PAGE))]
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        return data[begin % PAGE : begin % PAGE + end - begin]

    def _page(self, number: int) -> bytes:
        if number not in self._pages:
            if len(self._pages) >= MAX_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[number] = self._read(number * PAGE, min(self.size, (number + 1) * PAGE))
        return self._pages[number]

    def spend(self, steps: int) -> None:
        """Raises `UnsupportedError` once a file has taken more steps than any model does."""
        self._steps -= steps
        if self._steps < 0:
            raise UnsupportedError(f"{self.label}: expected at most {MAX_STEPS:,} links and messages, found more")

    def number(self, at: int, width: int = 8) -> int:
        """An unsigned integer, an address for example."""
        return int.from_bytes(self.take(at, at + width, "a number"), "little")

    def fault(self, at: int, expected: str, found: object) -> FormatError:
        return FormatError(f"{self.label}: byte {at:,}: expected {expected}, found {found}")

    def root(self) -> int:
        """The address of the root group's header, from the superblock. Raises `FormatError`."""
        head = self.take(0, min(self.size, SUPERBLOCK), "a superblock")
        if not head.startswith(SIGNATURE) or len(head) < SUPERBLOCK:
            raise self.fault(0, "an HDF5 superblock", shown(head[:8]))
        if head[8] or head[13:15] != b"\x08\x08" or self.number(24):
            raise UnsupportedError(
                f"{self.label}: expected an HDF5 file of the first version, found version {head[8]}",
                hint='write it with h5py\'s default, libver="earliest"',
            )
        end = self.number(40)
        if end != self.size:
            hint = "the file was cut short" if self.size < end else "something was appended to it"
            raise FormatError(f"{self.label}: size: expected {end:,} bytes as it says, found {self.size:,}", hint=hint)
        return self.number(64)

    def walk(self, path: str, address: int, found: Contents, depth: int = 0) -> None:
        """The object at an address, and all in it. Raises `FormatError`."""
        where = f"{self.label}: {shown(path or '/')}"
        if address in self._seen:  # a second name for one object, or a group inside itself
            raise UnsupportedError(f"{where}: expected one name for each object, found a second for byte {address:,}")
        self._seen.add(address)
        if len(self._seen) > MAX_OBJECTS or depth > MAX_DEPTH:
            raise UnsupportedError(f"{where}: expected at most {MAX_OBJECTS:,} objects, {MAX_DEPTH} deep, found more")
        messages = list(self._messages(address, where))
        texts = dict(self._texts(messages, where))
        if texts:
            found.attributes[path] = texts
        kinds = {message.kind: message.data for message in messages}
        if hdf5_header.SYMBOLS in kinds:
            table = kinds[hdf5_header.SYMBOLS]
            tree, heap = (int.from_bytes(table[at : at + 8], "little") for at in (0, 8))
            for name, child in self._links(tree, heap):
                self.walk(f"{path}/{name}" if path else name, child, found, depth + 1)
        elif hdf5_header.LINK_INFO in kinds or hdf5_header.LINK in kinds:
            raise UnsupportedError(f"{where}: expected a group of the first version of HDF5, found a later one")
        elif hdf5_header.DATASPACE in kinds and hdf5_header.DATATYPE in kinds:
            found.datasets[path] = self._dataset(kinds, where)

    def _dataset(self, kinds: dict[int, bytes], where: str) -> Dataset:
        shape = hdf5_header.dataspace(kinds[hdf5_header.DATASPACE], where)
        kind = hdf5_header.datatype(kinds[hdf5_header.DATATYPE], where)
        if kind.name in {None, "text", "variable text"}:
            return Dataset(None, kind.big_endian, shape, Range(0, 0))
        if hdf5_header.EXTERNAL in kinds or hdf5_header.LAYOUT not in kinds:
            raise UnsupportedError(f"{where}: expected its numbers in this file, found them in another")
        place = hdf5_header.contiguous(kinds[hdf5_header.LAYOUT], where) or Range(0, 0)
        expected = prod(shape) * kind.size
        if place.end - place.begin != expected or place.end > self.size:
            raise FormatError(
                f"{where}: expected {expected:,} bytes for {kind.name} {list(shape)}, "
                f"found {place.end - place.begin:,} at {place.begin:,}"
            )
        return Dataset(kind.name, kind.big_endian, shape, place)

    def _messages(self, address: int, where: str) -> Iterator[Message]:
        """An object's header, in all its pieces."""
        head = self.take(address, address + 16, f"the header of {where}")
        if head[0] != 1:
            what = "a later version" if head[:4] == b"OHDR" else f"version {head[0]}"
            raise UnsupportedError(f"{where}: expected an object header of version 1, found {what}")
        left = min(int.from_bytes(head[2:4], "little"), MAX_MESSAGES)
        pieces = [(address + 16, int.from_bytes(head[8:12], "little"))]
        for start, length in pieces:  # grows while it is walked
            end = start + length
            at = start
            while left and at + 8 <= end:
                left -= 1
                self.spend(1)
                head = self.take(at, at + 8, "a header message")
                kind, size = int.from_bytes(head[:2], "little"), int.from_bytes(head[2:4], "little")
                if at + 8 + size > end or head[4] & 2:
                    raise self.fault(at, "a header message of its own", f"{size:,} bytes, flags {head[4]:#x}")
                data = self.take(at + 8, at + 8 + size, "a header message")
                at += 8 + size
                if kind == hdf5_header.CONTINUATION and size >= 16:
                    pieces.append((int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")))
                elif size >= 8:  # each that is looked for has more; the null message has any length
                    yield Message(kind, data)

    def _links(self, tree: int, heap: int) -> Iterator[tuple[str, int]]:
        """Names and addresses of a group's members: a B-tree whose leaves are tables of symbols."""
        header = self.take(heap, heap + 32, "a heap of names")
        if header[:4] != b"HEAP":
            raise self.fault(heap, "a heap of names", shown(header[:4]))
        size, names = (int.from_bytes(header[at : at + 8], "little") for at in (8, 24))
        for table in self._leaves(tree):
            count = self.number(table + 6, 2)
            self.spend(count)
            entries = self.take(table + 8, table + 8 + 40 * count, "a table of symbols")
            for at in range(0, 40 * count, 40):
                offset, address = (int.from_bytes(entries[n : n + 8], "little") for n in (at, at + 8))
                if entries[at + 16] == 2 or offset >= size:
                    raise UnsupportedError(
                        f"{self.label}: byte {table:,}: expected links inside the file, found another"
                    )
                yield self._name(names + offset, min(self.size, names + size)), address

    def _leaves(self, tree: int) -> Iterator[int]:
        """Addresses of the symbol tables below a B-tree, in the order of their names."""
        waiting = [tree]
        while waiting:
            at = waiting.pop()
            mark = self.take(at, at + 4, "a group's tree")
            if at in self._seen or mark not in (b"TREE", b"SNOD"):
                raise self.fault(at, "a group's tree", "one node twice" if at in self._seen else shown(mark))
            self._seen.add(at)
            if mark == b"SNOD":
                yield at
                continue
            count = self.number(at + 6, 2)
            self.spend(count)
            children = self.take(at + 24, at + 24 + 16 * count, "a group's tree")
            waiting += [int.from_bytes(children[n + 8 : n + 16], "little") for n in range(0, 16 * count, 16)][::-1]

    def _name(self, begin: int, end: int) -> str:
        raw = self.take(begin, min(end, begin + MAX_NAME), "a name").partition(b"\0")[0]
        name = raw.decode("utf-8", "replace")
        if not name or "/" in name or len(raw) == MAX_NAME:
            raise self.fault(begin, "a name", shown(name))
        return name

    def _texts(self, messages: list[Message], where: str) -> Iterator[tuple[str, str]]:
        for message in messages:
            found = hdf5_header.attribute(message.data, where) if message.kind == hdf5_header.ATTRIBUTE else None
            if found is not None:
                yield found.name, self._text(found, where)

    def _text(self, found: Attribute, where: str) -> str:
        """An attribute's value, which may lie in a heap: its length, the heap's address, its number there."""
        value = found.value
        if found.datatype.name == "variable text":
            if len(value) < 16:
                raise FormatError(f"{where}: {shown(found.name)}: expected a text, found {len(value)} bytes")
            length, heap, number = (int.from_bytes(value[a:b], "little") for a, b in ((0, 4), (4, 12), (12, 16)))
            value = self._from_heap(heap, number)[:length] if length else b""
        return value.rstrip(b"\0").decode("utf-8", "replace")

    def _from_heap(self, heap: int, wanted: int) -> bytes:
        """An object of a global heap."""
        head = self.take(heap, heap + 16, "a heap")
        end = heap + int.from_bytes(head[8:16], "little")
        at = heap + 16
        if head[:4] != b"GCOL" or end > self.size:
            raise self.fault(heap, "a heap", shown(head[:4]))
        while at + 16 <= end:
            self.spend(1)
            head = self.take(at, at + 16, "a heap's object")
            number, size = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:16], "little")
            if number == wanted:
                self._text_left -= size
                if self._text_left < 0 or at + 16 + size > end:
                    raise UnsupportedError(
                        f"{self.label}: byte {at:,}: expected at most {MAX_TEXT:,} bytes, found {size:,}"
                    )
                return self.take(at + 16, at + 16 + size, "a heap's object")
            if not number:
                break
            at += 16 + -(-size // 8) * 8
        raise self.fault(heap, f"object {wanted:,} in this heap", "none of that number")
