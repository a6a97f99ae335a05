"""The header of a .npy file, format versions 1 to 3. Nothing in it is evaluated, and no pickle is ever read.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. NumPy's own reader hands the header to
Python's parser; it has one possible shape, so three patterns do.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import RecordingError
from ln_audit.recording.dtypes import npy_element

if TYPE_CHECKING:
    from ln_audit.recording.dtypes import Element

MAGIC = b"\x93NUMPY"
LONGEST = 10_000  # bytes of a header; NumPy's own limit
HEAD = len(MAGIC) + 2 + 4 + LONGEST  # as much of a file as may have to be looked at
LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # by format version

_DESCR = re.compile(r"""['"]descr['"]\s*:\s*(?:'([^']*)'|"([^"]*)"|(\[))""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(\s*((?:\d{1,19}\s*,\s*)*(?:\d{1,19}\s*)?)\)""", re.ASCII)


class NpyHeader(NamedTuple):
    """What a header says: numbers of `element`, `shape`, first axis fastest if `fortran`, from byte `begin` on."""

    element: Element
    shape: tuple[int, ...]
    fortran: bool
    begin: int

    @property
    def end(self) -> int:
        """Where the numbers end, and with them the file."""
        return self.begin + prod(self.shape) * self.element.size


def read_header(head: bytes, size: int, label: str) -> NpyHeader:
    """The header of a file of `size` bytes that begins with `head`. Raises `RecordingError`."""
    begin, text = _header_text(head, label)
    descr, order, shape = _DESCR.search(text), _ORDER.search(text), _SHAPE.search(text)
    if descr is None or order is None or shape is None:
        raise RecordingError(f"{label}: npy header: expected descr, fortran_order and shape, found {text[:80]!a}")
    element = npy_element(next(group for group in descr.groups() if group is not None), label)
    sizes = tuple(int(axis) for axis in shape[1].split(",") if axis.strip())
    header = NpyHeader(element, sizes, order[1] == "True", begin)
    if header.end != size:
        raise RecordingError(
            f"{label}: expected {header.end:,} bytes for {element.name} {list(sizes)}, found {size:,}",
            hint="the file was cut short" if size < header.end else "only one array may be in a file",
        )
    return header


def _header_text(head: bytes, label: str) -> tuple[int, str]:
    """Where the numbers begin, and the header as text."""
    if not head.startswith(MAGIC):
        raise RecordingError(f"{label}: expected a npy file, found {head[:8]!r}")
    version = head[6] if len(head) > 6 else 0
    if version not in LENGTH_BYTES:
        raise RecordingError(f"{label}: npy version: expected 1, 2 or 3, found {version}")
    start = 8 + LENGTH_BYTES[version]
    length = int.from_bytes(head[8:start], "little")
    if length > LONGEST:
        raise RecordingError(f"{label}: npy header: expected at most {LONGEST:,} bytes, found {length:,}")
    if len(head) < start + length:
        raise RecordingError(f"{label}: npy header: expected {start + length:,} bytes, found {len(head):,}")
    return start + length, head[start : start + length].decode("utf-8" if version == 3 else "latin-1", "replace")
