"""PyTorch's files (`.bin`, `.pt`, `.pth`, `.ckpt`), read without PyTorch and without running anything they hold.

Both containers, the zip archive and the older row of pickles, become the object that was saved, its tensors as views of
storages that are read by range when asked for. Names are those of the state dict inside it, see `torch_state`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Checkpoint, Declared, Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import impostors, torch_archive, torch_legacy
from ln_audit.formats.shown import shown
from ln_audit.formats.torch_state import every_tensor, find_state
from ln_audit.formats.torch_views import stored, wanted
from ln_audit.formats.zip_members import LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.core import Source, Stored
    from ln_audit.formats.torch_views import Saved, View

NAME = "pytorch"
SUFFIXES: tuple[str, ...] = (".bin", ".pt", ".pth", ".ckpt")
FIRST = "pytorch_model.bin"

PREFETCH = 65_536  # the pickle of an old file is longer than that from some 300 tensors on


def recognises(prefix: bytes) -> bool:
    """Whether a file that begins with these bytes can be PyTorch's, of either container."""
    return torch_archive.recognises(prefix) or torch_legacy.recognises(prefix)


def read_checkpoint(source: Source, file: str) -> Checkpoint:
    """The state dict in the file; values are read when asked for. Raises `FormatError`.

    Declared: `state_dict`, the keys that led to it, where there are any; `tied`, groups of names whose tensors are the
    same bytes of one storage, so that they can be counted once.
    """
    saved = _open(source, file)
    state = find_state(saved.root, file)
    declared = [Declared("state_dict", ".".join(state.path), file)] if state.path else []
    tied = _tied(state.tensors)
    if tied:
        declared.append(Declared("tied", tied, file))
    return Checkpoint(
        format=NAME,
        files=(file,),
        tensors=MappingProxyType({name: view.info(name) for name, view in state.tensors.items()}),
        read=lambda names: _read(saved, state.tensors, names),
        declared=tuple(declared),
    )


def read_tensors(source: Source, file: str, names: Sequence[str]) -> Mapping[str, Stored]:
    """Tensors of any saved object by the keys and list positions that lead to them: `before`, `hidden_states.12`.

    A tensor saved by itself is called `tensor`. Raises `FormatError`, also for a name that is not there.
    """
    saved = _open(source, file)
    tensors = every_tensor(saved.root, file)
    for name in names:
        _known(file, tensors, name)
    return _read(saved, tensors, names)


class Placed(NamedTuple):
    """Where one tensor's elements lie in its file, in their order and little-endian."""

    dtype: str
    shape: tuple[int, ...]
    range: Range


def place_tensor(source: Source, file: str, name: str) -> Placed:
    """Where a tensor lies, for those who read it piece by piece; names as for `read_tensors`. Raises `FormatError`.

    `UnsupportedError` where the file does not hold its elements one behind the other: packed, strided, big-endian.
    """
    saved = _open(source, file)
    view = _known(file, every_tensor(saved.root, file), name)
    if not view.contiguous or saved.big_endian:
        found = "big-endian ones" if saved.big_endian else f"a view of strides {shown(list(view.stride))}"
        raise UnsupportedError(
            f"{file}: {shown(name)}: expected elements one behind the other, found {found}",
            hint="save a contiguous copy of it",
        )
    saved.fetch([(view.storage, Range(0, 0))])  # an old file's own count of it is held against the pickle's
    begin = saved.place(view.storage)
    return Placed(view.dtype, view.shape, Range(begin + view.range.begin, begin + view.range.end))


def _known(file: str, tensors: Mapping[str, View], name: str) -> View:
    if name not in tensors:
        some = ", ".join(shown(held) for held in list(tensors)[:6])
        raise FormatError(f"{file}: {shown(name)}: expected a tensor of that name, found {some}")
    return tensors[name]


def _open(source: Source, file: str) -> Saved:
    prefix = source.read_prefix(file, PREFETCH)
    found = impostors.placeholder(prefix, source.size(file))
    if found is not None:
        raise FormatError(f"{file}: expected a PyTorch file, found {found.what}", hint=found.hint)
    if prefix.startswith(LOCAL):
        return torch_archive.read_archive(source, file, prefix)
    if not torch_legacy.recognises(prefix) and not prefix.startswith(b"\x80"):
        impostors.refuse(file, prefix, source.size(file), "a PyTorch file")
    return torch_legacy.read_legacy(source, file, prefix)


def _read(saved: Saved, tensors: Mapping[str, View], names: Sequence[str]) -> Mapping[str, Stored]:
    """All in one read of the source, in the file's order as far as the storages' keys tell it."""
    asked = list(dict.fromkeys(names))
    parts = saved.fetch([(tensors[name].storage, wanted(tensors[name], name)) for name in asked])
    return {
        name: stored(tensors[name], data, big_endian=saved.big_endian) for name, data in zip(asked, parts, strict=True)
    }


def _tied(tensors: Mapping[str, View]) -> tuple[tuple[str, ...], ...]:
    """Names of tensors that are the same run of bytes, whole: tied weights, also where one is the other transposed."""
    groups: dict[tuple[str, int, int, str], list[str]] = {}
    for name, view in tensors.items():
        begin, end = view.range
        if view.elements and end - begin == view.elements * view.width:
            groups.setdefault((view.storage.key, begin, end, view.dtype), []).append(name)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)
