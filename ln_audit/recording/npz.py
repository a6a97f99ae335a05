"""Members of a .npz archive: streamed through zipfile, which checks their CRC-32, and never unpacked as a whole."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import contextmanager
from math import prod
from typing import IO, TYPE_CHECKING, Any

from ln_audit.errors import RecordingError
from ln_audit.recording.arrays import ArrayFile, in_pieces, usable
from ln_audit.recording.dtypes import numbers
from ln_audit.recording.npy import HEAD, NpyHeader, read_header
from ln_audit.sources.file_names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.recording.files import RecordedFile

MOST_UNPACKED = 2**30  # bytes of a compressed member: a thousand times smaller in the file, it costs seconds per walk
IN_MEMORY = 2**25  # bytes of a member in Fortran order, whose rows lie mixed: all of it is read
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes
ONE_READ = 2**20  # a forged size allocates no more than this at once


def open_member(file: RecordedFile, name: str | None) -> ArrayFile:
    """The array `name` of the archive. Raises `RecordingError`."""
    label = f"{file.label}:{name}" if name else file.label
    with _archive(file, label) as archive:
        index = _find(archive, name, label)
        info = archive.infolist()[index]
        _check_packing(info, label)
        with archive.open(info) as member:
            header = read_header(member.read(min(HEAD, info.file_size)), info.file_size, label)
    if header.fortran and info.file_size > IN_MEMORY:
        raise RecordingError(
            f"{label}: expected C order above {IN_MEMORY:,} bytes in a zip archive, found Fortran order",
            hint="save it with numpy.ascontiguousarray, or as .npy",
        )

    def walk(rows: int) -> Iterator[np.ndarray[Any, Any]]:
        with _archive(file, label) as archive, archive.open(archive.infolist()[index]) as member:
            _exactly(member, header.begin, label)
            yield from _rows(member, header, rows, label)

    return usable(ArrayFile(label, header.shape, header.element, walk))


def _rows(member: IO[bytes], header: NpyHeader, rows: int, label: str) -> Iterator[np.ndarray[Any, Any]]:
    """Blocks of at most `rows` rows; in Fortran order, where the rows lie mixed, the whole array is read first."""
    width, every = header.shape[-1], prod(header.shape[:-1])
    step = every if header.fortran else rows
    for at in range(0, every, step):
        taken = min(step, every - at)
        flat = numbers(_exactly(member, taken * width * header.element.size, label), header.element)
        block = flat.reshape(header.shape, order="F") if header.fortran else flat
        yield from in_pieces(block.reshape(taken, width), rows)


def _check_packing(info: zipfile.ZipInfo, label: str) -> None:
    if info.compress_type not in METHODS or info.flag_bits & 1:  # bit 0: encrypted
        raise RecordingError(f"{label}: expected a stored or deflated member, found method {info.compress_type}")
    if info.compress_type != zipfile.ZIP_STORED and info.file_size > MOST_UNPACKED:
        raise RecordingError(
            f"{label}: expected at most {MOST_UNPACKED:,} bytes when compressed, found {info.file_size:,}",
            hint="save it with numpy.savez instead of numpy.savez_compressed",
        )


def _find(archive: zipfile.ZipFile, name: str | None, label: str) -> int:
    """The member's number; an archive may hold one name twice."""
    held = [info.filename.removesuffix(".npy") for info in archive.infolist()]
    if name is None or name not in held:
        some = printable(", ".join(held[:8]))
        raise RecordingError(
            f"{label}: expected an array of the archive, found {'none named' if name is None else 'none of that name'}",
            hint=f"write FILE.npz:NAME; it holds {some}" if held else "the archive is empty",
        )
    return held.index(name)


def _exactly(member: IO[bytes], size: int, label: str) -> bytes:
    parts, left = [], size
    while left and (part := member.read(min(left, ONE_READ))):
        parts.append(part)
        left -= len(part)
    if left:
        raise RecordingError(f"{label}: expected {size:,} more bytes, found {size - left:,}")
    return b"".join(parts)


@contextmanager
def _archive(file: RecordedFile, label: str) -> Iterator[zipfile.ZipFile]:
    """The open archive; whatever zipfile and zlib say of a damaged one is a `RecordingError`."""
    try:
        with zipfile.ZipFile(file.seekable_file()) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise RecordingError(f"{label}: expected a sound zip archive, found: {printable(str(error))}") from error
