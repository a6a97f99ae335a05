"""Shards to one checkpoint: a combinator over every reader of single files.

An index file maps each tensor to its shard. What it claims and what the shards hold are both kept (`ShardIndex`): where
they differ is for a check to judge, only what cannot be read at all is an error here.
"""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.core import Checkpoint, ShardIndex
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.bounded_json import Members, read_object
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source, Stored, TensorInfo

INDEX_SUFFIX = ".index.json"
MAX_INDEX = 32_000_000  # bytes; the longest of 2026, with 210,000 tensors, has 22 million
MAX_SHARDS = 4_096  # the largest models of 2026 have some 200; each costs a request


class Index(NamedTuple):
    """What an index file claims; shard names are paths inside the source."""

    file: str
    weight_map: Mapping[str, str]
    total_size: int | None


def read_sharded(source: Source, file: str, read_part: Callable[[Source, str], Checkpoint]) -> Checkpoint:
    """The checkpoint whose index is `file`. Raises `FormatError` for a bad index and a missing or unreadable shard."""
    index = read_index(source, file)
    shards = sorted(set(index.weight_map.values()))
    if len(shards) > MAX_SHARDS:
        raise UnsupportedError(f"{file}: weight_map: expected at most {MAX_SHARDS:,} shards, found {len(shards):,}")
    return join({shard: _read_shard(source, shard, index, read_part) for shard in shards}, index)


def read_index(source: Source, file: str) -> Index:
    """An index: `{"metadata": {"total_size": bytes}, "weight_map": {tensor: shard}}`. Raises `FormatError`."""
    top = dict(read_object(source, file, at_most=MAX_INDEX, what="a shard index"))
    weight_map = top.get("weight_map")
    if not isinstance(weight_map, Members):
        raise FormatError(f"{file}: weight_map: expected an object, found {shown(weight_map)}")
    folder = posixpath.dirname(file)
    paths: dict[str, str] = {}  # one string per shard, not one per tensor
    found: dict[str, str] = {}
    for tensor, shard in weight_map:
        if tensor in found:
            raise FormatError(f"{file}: weight_map: {shown(tensor)}: expected one shard, found the tensor listed twice")
        if not isinstance(shard, str) or not _inside(shard):
            raise FormatError(
                f"{file}: weight_map: {shown(tensor)}: expected a file of this folder, found {shown(shard)}"
            )
        found[tensor] = paths.setdefault(shard, posixpath.join(folder, shard))
    if not found:
        raise FormatError(f"{file}: weight_map: expected at least one tensor, found none")
    return Index(file, MappingProxyType(found), _total_size(top.get("metadata")))


def join(parts: Mapping[str, Checkpoint], index: Index) -> Checkpoint:
    """The shards as one checkpoint. A tensor in two of them is taken from the one the index names, else the first."""
    holders: dict[str, tuple[str, ...]] = {}
    for shard, part in parts.items():
        for name in part.tensors:
            holders[name] = (*holders.get(name, ()), shard)
    home: dict[str, str] = {}
    for name, shards in holders.items():
        named = index.weight_map.get(name)
        home[name] = named if named in shards else shards[0]
    tensors = {name: parts[shard].tensors[name] for name, shard in home.items()}
    first = next(iter(parts.values()))
    return Checkpoint(
        format=first.format,
        files=(index.file, *parts),
        tensors=MappingProxyType(tensors),
        read=_reader(parts, home),
        read_beginning=_beginnings(parts, home),
        dequantizes=first.dequantizes,
        declared=tuple(dict.fromkeys(fact for part in parts.values() for fact in part.declared)),
        index=ShardIndex(
            file=index.file,
            weight_map=index.weight_map,
            holders=MappingProxyType(holders),
            total_size=index.total_size,
            actual_size=_bytes(tensors),
        ),
        read_from=lambda shard, name: parts[shard].read([name])[name],
    )


def _beginnings(parts: Mapping[str, Checkpoint], home: Mapping[str, str]) -> Callable[[str, int], bytes] | None:
    """The shards' own, if all of them have one."""
    own = {shard: part.read_beginning for shard, part in parts.items()}
    known = {shard: read for shard, read in own.items() if read is not None}
    return (lambda name, count: known[home[name]](name, count)) if len(known) == len(own) else None


def _reader(
    parts: Mapping[str, Checkpoint], home: Mapping[str, str]
) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One read per shard that holds any of them."""
        wanted: dict[str, list[str]] = {}
        for name in names:
            wanted.setdefault(home[name], []).append(name)
        found: dict[str, Stored] = {}
        for shard, of_shard in wanted.items():
            found |= parts[shard].read(of_shard)
        return found

    return read


def _read_shard(source: Source, shard: str, index: Index, read_part: Callable[[Source, str], Checkpoint]) -> Checkpoint:
    if not source.exists(shard):
        lost = [name for name, holder in index.weight_map.items() if holder == shard]
        raise FormatError(
            f"{index.file}: weight_map: expected {shard} for {shown(lost[0])}, found no such file",
            hint=f"{len(lost):,} of {len(index.weight_map):,} tensors are in it: the download is not complete",
        )
    return read_part(source, shard)


def _inside(name: str) -> bool:
    """A plain relative path: no way out of the folder on any system, nothing that a terminal would obey."""
    parts = name.split("/")
    odd = "\\" in name or ":" in parts[0] or not name.isprintable()
    return not odd and len(name) <= 1_024 and all(part not in {"", ".", ".."} for part in parts)


def _total_size(metadata: Any) -> int | None:
    """`metadata.total_size` in bytes; some writers make a float of it."""
    value = dict(metadata).get("total_size") if isinstance(metadata, Members) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _bytes(tensors: Mapping[str, TensorInfo]) -> int:
    return sum(info.nbytes for info in tensors.values())
