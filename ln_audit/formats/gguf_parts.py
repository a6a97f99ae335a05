"""Models in several GGUF files, `model-00001-of-00003.gguf` and so on, as `llama-gguf-split` writes them.

There is no index file: the first part's keys say how many there are, and it holds all other keys too. llama.cpp is given
the first part and finds the others by their names (`src/llama-model-loader.cpp`); so do we.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.assembly import MAX_SHARDS, Index, join
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ln_audit.core import Checkpoint, Source
    from ln_audit.formats.gguf_header import Header
    from ln_audit.formats.gguf_values import Value

NUMBER, COUNT, TENSORS = "split.no", "split.count", "split.tensors.count"


class Split(NamedTuple):
    """Which part of how many a file is, from 0, and how many tensors all of them hold, None if that is not said."""

    number: int
    parts: int
    tensors: int | None


def read_split(header: Header) -> Split | None:
    """What the keys say, or None for a whole model. Raises `FormatError` for keys that contradict each other."""
    number, parts, tensors = (_size(header, key) for key in (NUMBER, COUNT, TENSORS))
    if parts is None or parts <= 1:  # a set of one is whole, as llama.cpp sees it
        return None
    if parts > MAX_SHARDS:
        raise UnsupportedError(f"{header.file}: {COUNT}: expected at most {MAX_SHARDS:,} parts, found {parts:,}")
    if number is None or number >= parts:
        found = "no such key" if number is None else f"{number:,}"
        raise FormatError(f"{header.file}: {NUMBER}: expected a number below {parts:,}, found {found}")
    return Split(number, parts, tensors)


def part_names(file: str, split: Split) -> list[str]:
    """The names of all parts, beside `file`, which is the first. Raises `FormatError` where its name is not one's."""
    ending = _ending(split.number, split.parts)
    if not file.endswith(ending):
        raise FormatError(
            f"{file}: {NUMBER}: expected a name that ends in {ending}, as the file is part {split.number + 1:,} "
            f"of {split.parts:,}, found another name",
            hint="give all parts the names back that llama-gguf-split gave them",
        )
    stem = file.removesuffix(ending)
    names = [stem + _ending(number, split.parts) for number in range(split.parts)]
    if split.number:
        raise FormatError(
            f"{file}: {NUMBER}: expected the first part, found part {split.number + 1:,} of {split.parts:,}",
            hint=f"name {names[0]}; the other parts are read with it",
        )
    return names


def read_parts(
    source: Source, first: Checkpoint, names: list[str], split: Split, read_part: Callable[[str, int], Checkpoint]
) -> Checkpoint:
    """All parts as one checkpoint, with the first one's keys. Raises `FormatError` for a missing part."""
    lost = [name for name in names[1:] if not source.exists(name)]
    if lost:
        raise FormatError(
            f"{names[0]}: {COUNT}: expected {lost[0]} beside it, found no such file",
            hint=f"{len(lost):,} of {split.parts:,} parts are not there: the download is not complete",
        )
    parts = {names[0]: first} | {name: read_part(name, number) for number, name in enumerate(names[1:], 1)}
    joined = join(parts, Index(names[0], {}, None))
    _refuse_twice(parts, names[0])
    if split.tensors is not None and len(joined.tensors) != split.tensors:
        raise FormatError(
            f"{names[0]}: {TENSORS}: expected {split.tensors:,} tensors in all parts, found {len(joined.tensors):,}"
        )
    return replace(joined, files=tuple(names), declared=first.declared, index=None, read_from=None)


def check_part(header: Header, number: int, parts: int) -> None:
    """Whether a file is the part that its name says. Raises `FormatError`."""
    found = read_split(header)
    if found is None or (found.number, found.parts) != (number, parts):
        told = "a whole model" if found is None else f"part {found.number + 1:,} of {found.parts:,}"
        raise FormatError(f"{header.file}: {NUMBER}: expected part {number + 1:,} of {parts:,}, found {told}")


def _refuse_twice(parts: Mapping[str, Checkpoint], first: str) -> None:
    held: dict[str, str] = {}
    for file, part in parts.items():
        for name in part.tensors:
            if name in held:
                raise FormatError(
                    f"{first}: {shown(name)}: expected it in one part, found it in {held[name]} and {file}"
                )
            held[name] = file


def _ending(number: int, parts: int) -> str:
    return f"-{number + 1:05d}-of-{parts:05d}.gguf"


def _size(header: Header, key: str) -> int | None:
    if key not in header.values:
        return None
    value: Value = header.values[key]
    if type(value) is not int or value < 0:
        raise FormatError(f"{header.file}: {key}: expected a count, found {shown(value)}")
    return value
