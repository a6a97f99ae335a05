"""safetensors: eight bytes of length, a JSON header of that length, then the tensors without a gap.

The header is read by ourselves, for local and remote files alike: by range, and more strictly than by the reference
reader (safetensors 0.8), which lets some duplicate names pass. Nothing that the reference refuses is accepted, with one
exception: a dtype newer than this version, see `dtypes.misspelt`.
Format: https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Checkpoint, Declared, Range, Stored
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors
from ln_audit.formats.safetensors_header import parse_header
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.safetensors_header import Entry

NAME = "safetensors"
SUFFIXES: tuple[str, ...] = (".safetensors",)
FIRST = "model.safetensors"

PREFETCH = 16_384  # one request usually brings the whole header: GPT-2 small's is 14,283 bytes
MAX_HEADER = 100_000_000  # the format's own limit (reference reader: MAX_HEADER_SIZE)
MAX_READ = 20_000_000  # ours, to bound memory: 131,072 tensors of a mixture of experts need 17 MB
LENGTH = 8  # little-endian header length


class Header(NamedTuple):
    """What a file's header says. `begin` and `end` of an entry count from `data_start`, as in the file."""

    file: str
    size: int
    data_start: int
    tensors: Mapping[str, Entry]
    metadata: Mapping[str, str]

    def range(self, name: str) -> Range:
        """Where the tensor's bytes lie in the file."""
        entry = self.tensors[name]
        return Range(self.data_start + entry.begin, self.data_start + entry.end)


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be safetensors: a possible length, then a JSON object."""
    length = int.from_bytes(prefix[:LENGTH], "little")
    return len(prefix) > LENGTH and length <= MAX_HEADER and prefix[LENGTH : LENGTH + 1] in b"{ \t\r\n"


def read_header(source: Source, file: str) -> Header:
    """One file's header, checked against the file's size. Raises `FormatError` for all that no loader should take."""
    prefix = source.read_prefix(file, PREFETCH)
    size = source.size(file)
    if not recognises(prefix):
        impostors.refuse(file, prefix, size, "a safetensors file")
    length = _header_length(file, prefix, size)
    header = prefix[LENGTH : LENGTH + length]
    if len(header) < length:
        header += source.read(file, [Range(LENGTH + len(header), LENGTH + length)])[0]
    tensors, metadata = parse_header(header, file)
    data_start = LENGTH + length
    _check_ranges(file, tensors, data_start, size)
    return Header(file, size, data_start, MappingProxyType(tensors), MappingProxyType(metadata))


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The file as a checkpoint; values are read when asked for. Raises `FormatError`."""
    header = read_header(source, file)
    return Checkpoint(
        format=NAME,
        files=(file,),
        tensors=MappingProxyType({name: entry.info(name) for name, entry in header.tensors.items()}),
        read=_reader(source, header),
        read_beginning=lambda name, count: _beginning(source, header, name, count),
        declared=tuple(Declared(f"__metadata__.{key}", value, file) for key, value in header.metadata.items()),
    )


def _beginning(source: Source, header: Header, name: str, count: int) -> bytes:
    begin, end = header.range(name)
    return source.read(header.file, [Range(begin, min(end, begin + count))])[0]


def _header_length(file: str, prefix: bytes, size: int) -> int:
    if size < LENGTH:
        raise FormatError(f"{file}: header length: expected {LENGTH} bytes, found a file of {size}", hint=_CUT_SHORT)
    length = int.from_bytes(prefix[:LENGTH], "little")
    if length > MAX_HEADER:
        raise FormatError(f"{file}: header length: expected at most {MAX_HEADER:,} bytes, found {length:,}")
    if LENGTH + length > size:
        raise FormatError(
            f"{file}: size: expected at least {LENGTH + length:,} bytes for its header, found {size:,}", hint=_CUT_SHORT
        )
    if length > MAX_READ:
        raise UnsupportedError(
            f"{file}: header length: expected at most {MAX_READ:,} bytes in this version, found {length:,}"
        )
    return length


_CUT_SHORT = "the file was cut short; download or copy it again"


def _check_ranges(file: str, tensors: Mapping[str, Entry], data_start: int, size: int) -> None:
    """Every byte behind the header belongs to exactly one tensor; tensors without elements may lie between others."""
    reached, last = 0, "the header"
    for name, entry in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != reached:
            fault = "a gap" if entry.begin > reached else "an overlap"
            expected = f"expected data from byte {reached:,} where {last} ends"
            raise FormatError(f"{file}: {shown(name)}: {expected}, found {fault}: {entry.begin:,}")
        reached, last = entry.end, shown(name)
    whole = data_start + reached
    if whole != size:
        hint = _CUT_SHORT if size < whole else "bytes were appended that belong to no tensor"
        raise FormatError(f"{file}: size: expected {whole:,} bytes as its header says, found {size:,}", hint=hint)


def _reader(source: Source, header: Header) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One call of `source.read`, in file order, so that the source can join neighbours."""
        ordered = sorted(dict.fromkeys(names), key=header.range)
        parts = source.read(header.file, [header.range(name) for name in ordered])
        return {
            name: Stored(header.tensors[name].dtype, header.tensors[name].shape, data)
            for name, data in zip(ordered, parts, strict=True)
        }

    return read
