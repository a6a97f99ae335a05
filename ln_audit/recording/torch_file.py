"""Arrays out of files that torch.save wrote, read through the reader that executes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import RecordingError, UnsupportedError
from ln_audit.recording.arrays import ArrayFile, by_range, in_order
from ln_audit.recording.dtypes import safetensors_element
from ln_audit.recording.files import as_recording_fault

if TYPE_CHECKING:
    from ln_audit.recording.files import RecordedFile

SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
IN_MEMORY = 2**25  # bytes of a tensor whose elements do not lie one behind the other: all of it is read


def open_tensor(file: RecordedFile, name: str | None) -> ArrayFile:
    """The tensor `name` (keys joined by dots; `tensor` or nothing where one was saved alone). Raises `RecordingError`."""
    from ln_audit.formats.torch_pickle import place_tensor, read_tensors

    wanted = name or "tensor"
    label = f"{file.label}:{wanted}"
    with as_recording_fault():
        try:
            placed = place_tensor(file.source, file.entry, wanted)
        except UnsupportedError:
            stored = read_tensors(file.source, file.entry, [wanted])[wanted]
        else:
            element = safetensors_element(placed.dtype, label)
            return in_order(label, placed.shape, element, file, placed.range.begin)
    if len(stored.data) > IN_MEMORY:
        raise RecordingError(
            f"{label}: expected elements one behind the other above {IN_MEMORY:,} bytes, found {len(stored.data):,}",
            hint="save tensor.contiguous()",
        )
    element = safetensors_element(stored.dtype, label)
    return by_range(label, stored.shape, element, lambda begin, end: stored.data[begin:end], 0)
