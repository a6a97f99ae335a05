"""Recordings in each container, written by the libraries that people use or byte by byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "bfloat16": "BF16", "int64": "I64", "int8": "I8"}


def states(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(ml_dtypes.bfloat16)


def write_safetensors(
    path: Path, tensors: dict[str, np.ndarray[Any, Any]], metadata: dict[str, str] | None = None
) -> str:
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, array in tensors.items():
        raw = array.tobytes()
        header[name] = {
            "dtype": NAMES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


def npy_bytes(header: str | bytes, data: bytes = b"", version: int = 1) -> bytes:
    raw = header if isinstance(header, bytes) else header.encode("utf-8" if version == 3 else "latin-1")
    size = len(raw).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + raw + data


def npy_header(descr: str, shape: tuple[int, ...], *, fortran: bool = False) -> str:
    return f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}\n"


def whole(array: Any, rows: int = 3) -> np.ndarray[Any, Any]:
    """All blocks of an array, put together again."""
    return np.concatenate(list(array.blocks(rows))).reshape(array.shape)
