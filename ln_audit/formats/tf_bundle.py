"""TensorFlow checkpoints, version 2 (`model.ckpt.index` beside `model.ckpt.data-00000-of-00001`), without TensorFlow.

The index is a table (`sstable`) from names to small messages (`tf_entry`), which say where in the data files each tensor
lies and what its CRC-32C is. That checksum is held against every tensor that is read. What an optimizer keeps beside the
variables is left aside.
"""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Checkpoint, Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors, sstable
from ln_audit.formats.bounded_json import read_object
from ln_audit.formats.crc32c import crc32c, unmasked
from ln_audit.formats.dtypes import DTYPES
from ln_audit.formats.shown import shown
from ln_audit.formats.tf_entry import Entry, Header, parse_entry, parse_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ln_audit.core import Source

NAME = "tensorflow"
SUFFIXES: tuple[str, ...] = (".index",)
FIRST = "model.ckpt.index"

MAX_INDEX = 32_000_000  # bytes; GPT-2 small's has 5,215
CONFIGS = ("hparams.json", "bert_config.json")  # what OpenAI and Google put beside their checkpoints
MAX_CONFIG = 1_000_000

# What optimizers keep of a variable, under its name: TensorFlow 1, the training code of BERT and T5.
_COPY = re.compile(
    r"(?P<of>.+?)(?:/(?:adam_[mv]|lamb_[mv]|Adam(?:W|_1)?|LAMB(?:_1)?|Momentum|RMSProp(?:_1)?|Adagrad|Adadelta(?:_1)?"
    r"|Ftrl(?:_1)?|ExponentialMovingAverage)|_slot_\w+|/\.OPTIMIZER_SLOT/.+)"
)
_STATE = re.compile(
    r"(?:.*/)?(?:global_step|beta[12]_power)|save_counter/.+|_CHECKPOINTABLE_OBJECT_GRAPH"
    r"|(?:.*/)?optimizer/(?!_trainable_variables/).+"  # Keras 3 reaches the model's own variables through its optimizer
)


class Bundle(NamedTuple):
    """A read index. `aside` are the names of what belongs to the training run, not to the model."""

    file: str
    header: Header
    entries: Mapping[str, Entry]
    aside: tuple[str, ...]

    def shard(self, entry: Entry) -> str:
        """The data file that holds a tensor."""
        return f"{self.file.removesuffix('.index')}.data-{entry.shard:05d}-of-{self.header.shards:05d}"


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be an index: an empty first key, and its value, the header."""
    return (
        prefix[:2] == b"\0\0" and 0 < int.from_bytes(prefix[2:3], "little") < 64 and prefix[3:4] in (b"\x08", b"\x1a")
    )


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The checkpoint whose index is `file`; values are read when asked for. Raises `FormatError`."""
    bundle = read_index(source, file)
    shards = _check_shards(source, bundle)
    return Checkpoint(
        format=NAME,
        files=(file, *shards),
        tensors=MappingProxyType({name: _info(name, entry) for name, entry in bundle.entries.items()}),
        read=_reader(source, bundle),
        declared=(*_left_aside(bundle), *_configured(source, posixpath.dirname(file))),
    )


def read_index(source: Source, file: str) -> Bundle:
    """The index, every block of it held against its checksum. Raises `FormatError`."""
    data = source.read_prefix(file, MAX_INDEX + 1)
    size = source.size(file)
    if not recognises(data):
        impostors.refuse(file, data, size, "the index of a TensorFlow checkpoint")
    if size > MAX_INDEX:
        raise UnsupportedError(f"{file}: size: expected at most {MAX_INDEX:,} bytes, found {size:,}")
    header: Header | None = None
    found: dict[str, Entry] = {}
    for key, value in sstable.entries(data, file):
        if not key:
            header = parse_header(value, f"{file}: header")
        elif key[0]:  # names that begin with a zero byte are the parts of a tensor saved in slices
            name = _name(key, file)
            found[name] = parse_entry(value, f"{file}: {shown(name)}")
    if header is None:
        raise FormatError(f"{file}: expected a header under the empty key, found none")
    aside = tuple(name for name, entry in found.items() if entry.dtype is None or _of_training(name, found))
    kept = {name: entry for name, entry in found.items() if name not in set(aside)}
    return Bundle(file, header, MappingProxyType(kept), aside)


def _name(key: bytes, file: str) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as cause:
        raise FormatError(f"{file}: expected names in UTF-8, found {shown(key)}") from cause


def _of_training(name: str, names: Iterable[str]) -> bool:
    """Whether this is a counter, or a copy of a variable that is there itself: an average alone is the model."""
    copy = _COPY.fullmatch(name)
    return _STATE.fullmatch(name) is not None or (copy is not None and _has(copy["of"], names))


def _has(variable: str, names: Iterable[str]) -> bool:
    return variable in names or f"{variable}/.ATTRIBUTES/VARIABLE_VALUE" in names


def _check_shards(source: Source, bundle: Bundle) -> list[str]:
    """The data files, each there and long enough for what the index puts into it. Raises `FormatError`."""
    ends: dict[str, tuple[int, str]] = {}
    for name, entry in bundle.entries.items():
        if not 0 <= entry.shard < bundle.header.shards:
            raise FormatError(
                f"{bundle.file}: {shown(name)}: expected one of {bundle.header.shards} data files, found {entry.shard}"
            )
        shard = bundle.shard(entry)
        ends[shard] = max(ends.get(shard, (0, "")), (entry.end, name))
    for shard, (end, name) in ends.items():
        if not source.exists(shard):
            raise FormatError(
                f"{bundle.file}: {shown(name)}: expected {shard} beside the index, found no such file",
                hint="an index holds no values: download the data files too",
            )
        size = source.size(shard)
        if size < end:
            raise FormatError(
                f"{shard}: size: expected at least {end:,} bytes for {shown(name)}, found {size:,}",
                hint="the file was cut short; download or copy it again",
            )
    return sorted(ends)


def _info(name: str, entry: Entry) -> TensorInfo:
    dtype = entry.dtype or ""
    bits = DTYPES[dtype].bits
    info = TensorInfo(name, dtype, entry.shape, 0)
    return TensorInfo(name, dtype, entry.shape, info.elements * bits // 8)


def _reader(source: Source, bundle: Bundle) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One call of `source.read` per data file, in file order, so that the source can join neighbours."""
        wanted: dict[str, list[str]] = {}
        for name in sorted(dict.fromkeys(names), key=lambda name: bundle.entries[name].begin):
            _check_readable(bundle, name)
            wanted.setdefault(bundle.shard(bundle.entries[name]), []).append(name)
        found: dict[str, Stored] = {}
        for shard, held in wanted.items():
            ranges = [Range(bundle.entries[name].begin, bundle.entries[name].end) for name in held]
            for name, data in zip(held, source.read(shard, ranges), strict=True):
                found[name] = _checked(bundle.entries[name], data, f"{shard}: {shown(name)}")
        return found

    return read


def _check_readable(bundle: Bundle, name: str) -> None:
    if bundle.header.big_endian:
        raise UnsupportedError(f"{bundle.file}: byte order: expected little-endian, found big-endian")
    if bundle.entries[name].slices:
        raise UnsupportedError(
            f"{bundle.file}: {shown(name)}: expected it in one piece, found {bundle.entries[name].slices} slices",
            hint="it is a partitioned variable: load it in TensorFlow and save it whole",
        )


def _checked(entry: Entry, data: bytes, where: str) -> Stored:
    """The tensor, its checksum held. Raises `FormatError`."""
    expected, found = unmasked(entry.masked_crc), crc32c(data)
    if found != expected:
        raise FormatError(
            f"{where}: expected CRC32C {expected:#010x} as its index says, found {found:#010x}",
            hint="the data file is damaged, or of another save than its index: download both again",
        )
    return Stored(entry.dtype or "", entry.shape, data)


def _left_aside(bundle: Bundle) -> list[Declared]:
    if not bundle.aside:
        return []
    where = f"{bundle.file}, for example {shown(bundle.aside[0])}"
    return [Declared("tensors left aside", len(bundle.aside), where)]


def _configured(source: Source, folder: str) -> list[Declared]:
    """The numbers and words of a configuration beside the checkpoint."""
    found: list[Declared] = []
    for name in CONFIGS:
        file, stem = posixpath.join(folder, name), name.removesuffix(".json")
        if source.exists(file):
            members = read_object(source, file, at_most=MAX_CONFIG, what="a model configuration")
            found += [
                Declared(f"{stem}.{key}", value, file) for key, value in members if isinstance(value, int | float | str)
            ]
    return found
