"""CRC-32C (Castagnoli), the checksum inside TensorFlow's checkpoints, at some hundred megabytes a second.

Definition and test vectors: https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4; masking:
https://github.com/google/leveldb/blob/main/util/crc32c.h
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

POLYNOMIAL = 0x82F63B78  # bits reversed
PIECE = 1_024  # bytes taken at once; the tables then have one megabyte
_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes) -> int:
    """The checksum of `data`.

    A CRC is linear: the register after a piece is the exclusive or of what each of its bytes alone would leave there, so
    one table per distance to the piece's end takes a whole piece at once. The register itself enters as four more bytes
    laid over the first four.
    """
    import numpy as np

    tables = _tables()
    everything = np.frombuffer(data, np.uint8)
    register = 0xFFFFFFFF
    for at in range(0, len(data), PIECE):
        piece = everything[at : at + PIECE].copy()
        over = min(4, len(piece))
        piece[:over] ^= np.frombuffer(register.to_bytes(4, "little"), np.uint8)[:over]
        alone = tables[np.arange(len(piece) - 1, -1, -1), piece]
        register = (register >> 8 * over) ^ int(np.bitwise_xor.reduce(alone))
    return register ^ 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """The checksum that was stored masked: a CRC of data that holds its own CRC would be too regular."""
    rotated = (stored - _MASK_DELTA) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


@cache
def _tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """[PIECE, 256]: the register after one byte and then `row` bytes of zero, from an empty register."""
    import numpy as np

    tables = np.empty((PIECE, 256), np.uint32)
    row: np.ndarray[Any, np.dtype[Any]] = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        row = (row >> 1) ^ (row & 1) * np.uint32(POLYNOMIAL)
    tables[0] = row
    for zeros in range(1, PIECE):
        before = tables[zeros - 1]
        tables[zeros] = tables[0][before & 0xFF] ^ (before >> 8)
    return tables
