"""ONNX models: initializers by range, also from files beside the model, and the norms by their place in the graph.

Nothing is computed, no operator is looked up or loaded. The `onnx` package (an extra) is asked for the standard's defaults
and to unfold tensors that are no raw bytes; the file itself is walked by ourselves, see `onnx_graph`.
"""

from __future__ import annotations

import importlib.util
from types import MappingProxyType
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Declared, Range, Stored
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors
from ln_audit.formats.dtypes import array
from ln_audit.formats.onnx_graph import GraphReader
from ln_audit.formats.onnx_norms import norm_sites
from ln_audit.formats.protobuf import Window
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ln_audit.core import Source
    from ln_audit.formats.onnx_graph import Model
    from ln_audit.formats.onnx_tensor import Tensor

NAME = "onnx"
SUFFIXES: tuple[str, ...] = (".onnx",)
FIRST = "model.onnx"
MAX_FILES = 4_096  # of external data; each costs a request
_BEHIND_VERSION = (b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42")  # fields 2 to 8 of a ModelProto


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be a model: an IR version below 64, and a field behind it."""
    return prefix[:1] == b"\x08" and b"\0" < prefix[1:2] < b"\x40" and prefix[2:3] in _BEHIND_VERSION


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The model as a checkpoint; values are read when asked for. Raises `FormatError`."""
    prefix = source.read_prefix(file, impostors.SNIFFED)
    size = source.size(file)
    if not recognises(prefix):
        impostors.refuse(file, prefix, size, "an ONNX model")
    _need_onnx(file)
    window = Window(lambda begin, end: source.read(file, [Range(begin, end)])[0], size, file)
    model = GraphReader(window, file).model()
    stored = {name: tensor for graph in model.graph.walk() for name, tensor in graph.tensors.items()}
    beside = _check_external(source, file, stored.values())
    sites = norm_sites(model.graph, lambda tensor: array(_read(source, [tensor])[tensor.name]).reshape(-1), file)
    named = {name for site in sites for name in (site.gain, site.bias)}
    for graph in model.graph.walk():  # of the tensors inside Constant nodes only those that are norms' parameters
        stored |= {name: tensor for name, tensor in graph.constants.items() if name in named}
    return Checkpoint(
        format=NAME,
        files=(file, *beside),
        tensors=MappingProxyType({name: tensor.info for name, tensor in stored.items()}),
        read=lambda names: _read(source, [stored[name] for name in dict.fromkeys(names)]),
        declared=_declared(model, file),
        norm_sites=sites,
        computes=True,
    )


def _need_onnx(file: str) -> None:
    if importlib.util.find_spec("onnx") is None:
        raise UnsupportedError(
            f"{file}: expected the onnx package, found it not installed", hint='pip install "ln-audit[onnx]"'
        )


def _check_external(source: Source, file: str, tensors: Iterable[Tensor]) -> list[str]:
    """The files that hold tensors beside the model, each there and long enough. Raises `FormatError`."""
    last: dict[str, Tensor] = {}
    for tensor in tensors:
        held = last.get(tensor.file)
        if tensor.file != file and (held is None or held.range.end < tensor.range.end):
            last[tensor.file] = tensor
    if len(last) > MAX_FILES:
        raise UnsupportedError(f"{file}: expected at most {MAX_FILES:,} files of external data, found {len(last):,}")
    for name, tensor in last.items():
        if not source.exists(name):
            raise FormatError(
                f"{file}: {shown(tensor.name)}: expected {shown(name)} beside the model, found no such file",
                hint="the numbers of this model are stored beside it: download that file too",
            )
        size = source.size(name)
        if size < tensor.range.end:
            raise FormatError(
                f"{name}: size: expected at least {tensor.range.end:,} bytes for {shown(tensor.name)}, found {size:,}",
                hint="the file was cut short; download or copy it again",
            )
    return list(last)


def _read(source: Source, tensors: Iterable[Tensor]) -> Mapping[str, Stored]:
    """One call of `source.read` per file, in file order, so that the source can join neighbours."""
    wanted: dict[str, list[Tensor]] = {}
    for tensor in sorted(tensors, key=lambda tensor: tensor.range):
        wanted.setdefault(tensor.file, []).append(tensor)
    found: dict[str, Stored] = {}
    for file, held in wanted.items():
        for tensor, data in zip(held, source.read(file, [tensor.range for tensor in held]), strict=True):
            values = _unfolded(tensor, data) if tensor.typed else data
            found[tensor.name] = Stored(tensor.dtype, tensor.shape, values)
    return found


def _unfolded(tensor: Tensor, message: bytes) -> bytes:
    """The numbers of a tensor that stores each by itself, as raw bytes. Raises `FormatError`."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import numpy_helper

    where = f"{tensor.file}: {shown(tensor.name)}"
    try:
        values = numpy_helper.to_array(onnx.TensorProto.FromString(message))
    except (DecodeError, ValueError, TypeError, OverflowError) as cause:
        problem = shown(str(cause).partition("\n")[0])
        raise FormatError(f"{where}: expected {tensor.dtype} {list(tensor.shape)}, found: {problem}") from cause
    data: bytes = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    if len(data) != tensor.nbytes:  # four-bit numbers come one to a byte
        raise UnsupportedError(f"{where}: expected raw bytes for {tensor.dtype}, found single numbers")
    return data


def _declared(model: Model, file: str) -> tuple[Declared, ...]:
    opsets = [Declared(f"opset.{domain or 'ai.onnx'}", version, file) for domain, version in model.opsets.items()]
    functions = [Declared("functions not looked into", model.functions, file)] if model.functions else []
    return (*opsets, *functions)
