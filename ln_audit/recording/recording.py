"""A recording: for each norm what it read and what it gave; metadata, gain, bias, hidden states where recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError
from ln_audit.recording import torch_file
from ln_audit.recording.arrays import ArrayFile, fortran_by_range, in_order
from ln_audit.recording.dtypes import safetensors_element
from ln_audit.recording.files import RecordedFile, as_recording_fault
from ln_audit.recording.lent import lent_parts
from ln_audit.recording.npy import HEAD, MAGIC, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from ln_audit.formats.safetensors import Header

VERSION = "1"
METADATA = (  # optional; what a reader of the report may miss
    "ln_audit.recording",
    "model",
    "revision",
    "norm",
    "kind",
    "eps",
    "framework",
    "output_dtype",
    "param_dtype",
    "compute_dtype",
    "gain_value_sha256",
    "bias_value_sha256",
    "made_with",
)
_STATE = re.compile(r"hidden_states\.(0|[1-9]\d{0,5})")


class NormRows(NamedTuple):
    """`core.Rows` over two arrays of one shape."""

    before: ArrayFile
    after: ArrayFile

    @property
    def width(self) -> int:
        return self.before.width

    @property
    def positions(self) -> int:
        return self.before.positions

    @property
    def before_dtype(self) -> str:
        return self.before.dtype

    @property
    def after_dtype(self) -> str:
        return self.after.dtype

    @property
    def leading(self) -> tuple[int, ...]:
        return self.before.shape[:-1]

    def blocks(self, rows: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Blocks of at most `rows` rows, before and after, each [n, width], native dtype."""
        return zip(self.before.blocks(rows), self.after.blocks(rows), strict=True)

    def lent_parts(
        self, rows: int, parts: int
    ) -> list[tuple[int, Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]]]:
        """The same in up to `parts` walks side by side, each with its first row; a block is valid until the next."""
        return lent_parts(self.before, self.after, rows, parts)


@dataclass(frozen=True, slots=True)
class Recording:
    """What a recording holds. `norms` are the names it gives its norms, `""` where there is only `before` and `after`.

    `states` are the N of its `hidden_states.N`, in order; `notes` say which optional metadata is absent.
    """

    name: str
    norms: tuple[str, ...]
    pairs: Mapping[str, tuple[ArrayFile, ArrayFile]] = field(repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    states: tuple[int, ...] = ()
    file: RecordedFile | None = field(default=None, repr=False)
    header: Header | None = field(default=None, repr=False)

    def rows(self, norm: str) -> NormRows:
        """What `norm` read and gave. Raises `RecordingError` where their shapes differ or there is no such norm."""
        if norm not in self.pairs:
            raise RecordingError(f"{self.name}: norm: expected {', '.join(self.norms)}, found {norm!r}")
        before, after = self.pairs[norm]
        if before.shape != after.shape:
            raise RecordingError(
                f"{self.name}: {after.label}: expected the shape of before, {list(before.shape)}, "
                f"found {list(after.shape)}"
            )
        return NormRows(before, after)

    def array(self, name: str) -> np.ndarray[Any, Any] | None:
        """A small tensor (`gain`, `bias`) in its stored dtype; None where there is none. Raises `RecordingError`."""
        if self.file is None or self.header is None or name not in self.header.tensors:
            return None
        return _tensor(self.file, self.header, name).small()

    def state(self, number: int) -> ArrayFile:
        """`hidden_states.N`. Raises `RecordingError`."""
        if self.file is None or self.header is None or number not in self.states:
            raise RecordingError(f"{self.name}: expected hidden_states.{number}, found states {list(self.states)}")
        return _tensor(self.file, self.header, f"hidden_states.{number}")


def open_recording(path: str) -> Recording:
    """A recording in safetensors. Raises `RecordingError` for all that cannot be used."""
    file = RecordedFile(path)
    header = _header(file)
    metadata = header.metadata
    version = metadata.get("ln_audit.recording", VERSION)
    if version != VERSION:
        raise RecordingError(f"{file.label}: ln_audit.recording: expected {VERSION!r}, found {version!r}")
    norms = _norms(header, file.label)
    pairs = {norm: tuple(_tensor(file, header, _inside(norm, side)) for side in ("before", "after")) for norm in norms}
    stated = {key.rpartition("/")[2] for key in metadata}  # of several norms each may say its own, as <norm>/KEY
    absent = [key for key in METADATA if key not in stated and not (key == "norm" and norms[0])]
    return Recording(
        name=file.label,
        norms=norms,
        pairs={norm: (before, after) for norm, (before, after) in pairs.items()},
        metadata=metadata,
        notes=(f"{file.label}: metadata absent: {', '.join(absent)}",) if absent else (),
        states=tuple(sorted(int(found[1]) for name in header.tensors if (found := _STATE.fullmatch(name)))),
        file=file,
        header=header,
    )


def open_pair(before: str, after: str) -> Recording:
    """Two arrays: `FILE.npy`, `FILE.npz:name`, `FILE.safetensors:name`, `FILE.pt:name`. Raises `RecordingError`."""
    pair = (_open_array(before), _open_array(after))
    return Recording(name=f"{pair[0].label}, {pair[1].label}", norms=("",), pairs={"": pair})


def _open_array(spec: str) -> ArrayFile:
    """One array, split at the last `:` unless the whole is a path; which format it is, its first bytes say."""
    path, name = spec, None
    if ":" in spec and not _exists(spec):
        path, _, name = spec.rpartition(":")
    file = RecordedFile(path)
    head = file.prefix(HEAD)
    if head.startswith(MAGIC):
        if name is not None:
            raise RecordingError(f"{file.label}: expected no name for a npy file, found {name!r}")
        header = read_header(head, file.size, file.label)
        if header.fortran:
            return fortran_by_range(file.label, header.shape, header.element, file.read, header.begin)
        return in_order(file.label, header.shape, header.element, file, header.begin)
    if path.endswith(torch_file.SUFFIXES):
        return torch_file.open_tensor(file, name)
    if head.startswith(b"PK"):
        from ln_audit.recording.npz import open_member

        return open_member(file, name)
    found = _header(file)
    if name is None or name not in found.tensors:
        held = ", ".join(list(found.tensors)[:8])
        raise RecordingError(
            f"{file.label}: expected a tensor of the file, found {'none named' if name is None else repr(name)}",
            hint=f"write FILE.safetensors:NAME; it holds {held}",
        )
    return _tensor(file, found, name)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or with a NUL character
        return False


def _header(file: RecordedFile) -> Header:
    from ln_audit.formats.safetensors import read_header as read_safetensors_header

    with as_recording_fault():
        return read_safetensors_header(file.source, file.entry)


def _tensor(file: RecordedFile, header: Header, name: str) -> ArrayFile:
    entry = header.tensors[name]
    label = f"{file.label}:{name}"
    element = safetensors_element(entry.dtype, label)
    return in_order(label, entry.shape, element, file, header.data_start + entry.begin)


def _norms(header: Header, label: str) -> tuple[str, ...]:
    """The norms that have a `before`, in the file's order. Raises `RecordingError` where one side is missing."""
    sides: dict[str, list[str]] = {"before": [], "after": []}
    for name in header.tensors:
        norm, slash, side = name.rpartition("/")
        if side in sides and (norm or not slash):
            sides[side].append(norm)
    for norm in sides["before"] + sides["after"]:
        for side, norms in sides.items():
            if norm not in norms:
                raise RecordingError(f"{label}: expected tensor {_inside(norm, side)}, found none")
    if not sides["before"]:
        held = ", ".join(list(header.tensors)[:8]) or "no tensor"
        raise RecordingError(f"{label}: expected tensors before and after, found {held}")
    return tuple(sides["before"])


def _inside(norm: str, side: str) -> str:
    return f"{norm}/{side}" if norm else side
