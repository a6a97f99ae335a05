"""LevelDB's table file: sorted keys in blocks with their common prefixes left out, and an index of the blocks behind them.

Format: https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.crc32c import crc32c, unmasked
from ln_audit.formats.protobuf import varint
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

FOOTER = 48  # bytes: two block handles, padded to 40, and the magic
MAGIC = 0xDB4775248B80FB57
TRAILER = 5  # behind each block: its compression and its checksum
MAX_KEY = 4_096  # bytes; names of tensors have a tenth of that
MAX_KEYS = 32_000_000  # bytes of all keys written out: eight bytes of file can repeat a key of any length
MAX_ENTRIES = 131_072
MAX_BLOCKS = 16_384  # an empty one has nine bytes and costs as much as a full one
_COMPRESSIONS = {1: "snappy", 2: "Zstandard"}


class Block(NamedTuple):
    """Where a block lies, its trailer not counted."""

    begin: int
    end: int


def entries(data: bytes, file: str) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values of the table `data`, in order. Raises `FormatError`, also where a checksum differs."""
    body = len(data) - FOOTER
    if body < 0 or int.from_bytes(data[-8:], "little") != MAGIC:
        raise FormatError(
            f"{file}: footer: expected the mark of a table file in its last 8 bytes, found {data[-8:].hex() or 'nothing'}",
            hint="the file was cut short, or is no index of a TensorFlow checkpoint",
        )
    _, at = _handle(data, body, body, f"{file}: footer")  # the block of metadata, which TensorFlow leaves empty
    index, _ = _handle(data, at, body, f"{file}: footer")
    reached, last, count, written = 0, None, 0, 0
    for number, (_, value) in enumerate(_block(data, index, file)):
        if number == MAX_BLOCKS:
            raise UnsupportedError(f"{file}: expected at most {MAX_BLOCKS:,} blocks, found more")
        block, _ = _handle(value, 0, body, f"{file}: index block")
        if block.begin < reached:
            raise FormatError(
                f"{file}: index block: expected a block behind byte {reached:,}, found one at {block.begin:,}"
            )
        reached = block.end + TRAILER
        for key, entry in _block(data, block, file):
            if last is not None and key <= last:
                raise FormatError(f"{file}: expected keys in order, found {_text(key)} behind {_text(last)}")
            last, count, written = key, count + 1, written + len(key)
            if count > MAX_ENTRIES or written > MAX_KEYS:
                raise UnsupportedError(
                    f"{file}: expected at most {MAX_ENTRIES:,} keys of {MAX_KEYS:,} bytes together, found more"
                )
            yield key, entry


def _handle(data: bytes, at: int, body: int, where: str) -> tuple[Block, int]:
    """A block's place, and where the handle ends."""
    begin, at = varint(data, at, where)
    size, at = varint(data, at, where)
    if begin + size + TRAILER > body:
        raise FormatError(f"{where}: expected a block in the first {body:,} bytes, found {size:,} bytes at {begin:,}")
    return Block(begin, begin + size), at


def _block(data: bytes, block: Block, file: str) -> Iterator[tuple[bytes, bytes]]:
    """The entries of one block, its checksum held first. Each is: bytes shared with the last key, own bytes, value."""
    where = f"{file}: block at byte {block.begin:,}"
    content = data[block.begin : block.end + TRAILER]
    if content[-TRAILER]:
        method = _COMPRESSIONS.get(content[-TRAILER], f"method {content[-TRAILER]}")
        raise UnsupportedError(
            f"{where}: expected no compression, found {method}",
            hint="TensorFlow itself writes its checkpoints uncompressed: save it again",
        )
    stored = unmasked(int.from_bytes(content[-4:], "little"))
    found = crc32c(content[:-4])
    if found != stored:
        raise FormatError(f"{where}: expected CRC32C {stored:#010x}, found {found:#010x}", hint="the index is damaged")
    restarts = int.from_bytes(content[-TRAILER - 4 : -TRAILER], "little")
    end = len(content) - TRAILER - 4 * (restarts + 1)
    if end < 0:
        raise FormatError(f"{where}: expected restart points inside the block, found {restarts:,} of them")
    yield from _entries(content[:end], where)


def _entries(data: bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    key, at = b"", 0
    while at < len(data):
        start = at
        shared, at = varint(data, at, where)
        own, at = varint(data, at, where)
        length, at = varint(data, at, where)
        if shared > len(key) or shared + own > MAX_KEY or at + own + length > len(data):
            raise FormatError(
                f"{where}: byte {start:,}: expected an entry inside its block, found {shared:,} + {own:,} and {length:,} bytes"
            )
        key = key[:shared] + data[at : at + own]
        at += own + length
        yield key, data[at - length : at]


def _text(key: bytes) -> str:
    return shown(key.decode("utf-8", "backslashreplace"))
