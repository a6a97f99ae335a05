"""Write a recording so that the same tensors and metadata always give the same bytes.

`safetensors.numpy.save_file` orders the metadata by chance (a Rust HashMap), so a rebuilt file would differ each
time. The format is small enough to write by hand: an 8-byte little-endian length, a JSON header padded with spaces,
the tensors.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DTYPES = {"float32": "F32", "int64": "I64"}
_ALIGNMENT = 8  # the reference writer pads its header to this, so that a mapped file gives aligned arrays


def write_recording(path: Path, tensors: Mapping[str, np.ndarray[Any, Any]], metadata: Mapping[str, str]) -> int:
    """Write tensors (float32 or int64, any shape) and metadata as one safetensors file; returns its size in bytes."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    data = bytearray()
    # The widest elements first, then by name: every tensor starts at a multiple of its element size.
    for name in sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)):
        array = tensors[name]
        begin = len(data)
        data += array.astype(array.dtype.newbyteorder("<")).tobytes()
        offsets = [begin, len(data)]
        header[name] = {"dtype": _DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))


def value_sha256(values: np.ndarray[Any, Any]) -> str:
    """SHA-256 over finite effective values [d] (offset already added) as little-endian float32."""
    if not np.isfinite(values).all():
        raise ValueError("gain or bias: expected finite values")
    return hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
