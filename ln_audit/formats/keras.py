"""Keras models: `.keras` (a zip of config.json and model.weights.h5), `.weights.h5`, and legacy `.h5`.

Norms are found by the class of their layer in the configuration. Nothing of a configuration is run: no Lambda layer, no
custom class.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Checkpoint, Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import hdf5, impostors
from ln_audit.formats.bounded_json import Members, parse_object
from ln_audit.formats.keras_layers import norm_sites, sites_without_configuration
from ln_audit.formats.shown import shown
from ln_audit.formats.zip_directory import DEFLATED
from ln_audit.formats.zip_members import open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import NormSite, Source
    from ln_audit.formats.hdf5 import Contents, Dataset

NAME = "keras"
SUFFIXES: tuple[str, ...] = (".keras", ".h5")
FIRST = "model.keras"
CONFIG, WEIGHTS, LEGACY_CONFIG = "config.json", "model.weights.h5", "model_config"
MAX_CONFIG = 16_000_000  # bytes
MAX_INFLATED = 134_217_728  # bytes of weights that were compressed
_OPTIMIZER = ("optimizer/", "optimizer_weights/")


class Weights(NamedTuple):
    """Where the bytes of an HDF5 file come from: a file, or a member of a zip archive."""

    read: Callable[[Sequence[Range]], list[bytes]]
    size: int


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be a Keras model: HDF5, or a zip that begins with its metadata."""
    name = prefix[30 : 30 + int.from_bytes(prefix[26:28], "little")]
    in_zip = prefix.startswith(b"PK\x03\x04") and name in (b"metadata.json", b"config.json", b"model.weights.h5")
    return prefix.startswith(hdf5.SIGNATURE) or in_zip


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The model as a checkpoint; values are read when asked for. Raises `FormatError`."""
    prefix = source.read_prefix(file, impostors.SNIFFED)
    if not recognises(prefix):
        impostors.refuse(file, prefix, source.size(file), "a Keras model")
    config: Members | None = None
    if prefix.startswith(b"PK"):
        weights, config = _unzip(source, file, prefix)
    else:
        weights = Weights(lambda ranges: source.read(file, ranges), source.size(file))
    contents = hdf5.read_contents(lambda begin, end: weights.read([Range(begin, end)])[0], weights.size, file)
    legacy = contents.attributes.get("", {}).get(LEGACY_CONFIG)
    if legacy is not None:
        config = _parse(legacy.encode("utf-8", "replace"), f"{file}: {LEGACY_CONFIG}")
    tensors = {name: held for name, held in contents.datasets.items() if held.dtype and not name.startswith(_OPTIMIZER)}
    if not tensors:
        raise FormatError(f"{file}: expected variables of layers, found none among {len(contents.datasets)} datasets")
    return Checkpoint(
        format=NAME,
        files=(file,),
        tensors=MappingProxyType({name: _info(name, held, contents) for name, held in tensors.items()}),
        read=_reader(weights, contents, file),
        declared=_declared(contents, len(tensors), file),
        norm_sites=_sites(config, contents, file, LEGACY_CONFIG if legacy is not None else CONFIG),
    )


def _unzip(source: Source, file: str, prefix: bytes) -> tuple[Weights, Members]:
    """The weights inside a `.keras` archive, read by range, and the configuration."""
    archive = open_archive(source, file, prefix)
    for name in (CONFIG, WEIGHTS):
        if name not in archive.members:
            raise FormatError(f"{file}: expected {name} in the archive, found {shown(list(archive.members))}")
    config = _parse(archive.whole({CONFIG: MAX_CONFIG})[CONFIG], f"{file}: {CONFIG}")
    weights = archive.members[WEIGHTS]
    if weights.method == DEFLATED:  # Keras stores it; somebody has packed it anew
        whole = archive.whole({WEIGHTS: MAX_INFLATED})[WEIGHTS]
        return Weights(lambda ranges: [whole[begin:end] for begin, end in ranges], weights.size), config
    start = archive.place(WEIGHTS)

    def read(ranges: Sequence[Range]) -> list[bytes]:
        return source.read(file, [Range(start + begin, start + end) for begin, end in ranges])

    return Weights(read, weights.size), config


def _parse(data: bytes, where: str) -> Members:
    members = parse_object(data, where, size=len(data), at_most=MAX_CONFIG, what="a model configuration")
    return members if isinstance(members, Members) else Members(members)


def _sites(config: Members | None, contents: Contents, file: str, where: str) -> tuple[NormSite, ...]:
    if config is None:
        return sites_without_configuration(contents, file)
    return norm_sites(config, contents, file, where)


def _dtype(name: str, held: Dataset, contents: Contents) -> str:
    """The name in safetensors' terms. Keras says of its two bytes without a type what they are."""
    said = contents.attributes.get(name, {}).get("dtype")
    return "BF16" if held.dtype == "V2" and said == "bfloat16" else held.dtype or ""


def _info(name: str, held: Dataset, contents: Contents) -> TensorInfo:
    return TensorInfo(name, _dtype(name, held, contents), held.shape, held.range.end - held.range.begin)


def _reader(weights: Weights, contents: Contents, file: str) -> Callable[[Sequence[str]], Mapping[str, Stored]]:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """One read for all, in file order."""
        ordered = sorted(dict.fromkeys(names), key=lambda name: contents.datasets[name].range)
        parts = weights.read([contents.datasets[name].range for name in ordered])
        return {name: _stored(name, contents, part, file) for name, part in zip(ordered, parts, strict=True)}

    return read


def _stored(name: str, contents: Contents, data: bytes, file: str) -> Stored:
    held = contents.datasets[name]
    dtype = _dtype(name, held, contents)
    if dtype == "V2":
        raise UnsupportedError(
            f"{file}: {shown(name)}: expected numbers, found V2, two bytes without a type",
            hint="save the model again with Keras, which says of bfloat16 that it is that",
        )
    if held.big_endian and data:
        import numpy as np

        width = len(data) // max(1, TensorInfo(name, dtype, held.shape, 0).elements)
        data = np.frombuffer(data, f">u{width}").astype(f"<u{width}").tobytes()
    return Stored(dtype, held.shape, data)


def _declared(contents: Contents, kept: int, file: str) -> tuple[Declared, ...]:
    texts = contents.attributes.get("", {})
    versions = [Declared(key, texts[key], file) for key in ("keras_version", "backend") if key in texts]
    aside = len(contents.datasets) - kept
    return (*versions, *([Declared("datasets left aside", aside, file)] if aside else []))
