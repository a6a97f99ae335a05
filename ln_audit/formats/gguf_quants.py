"""Quantized tensors of GGUF as float32, through the gguf package: the reference implementation in NumPy.

Its reader is not used. The package is an extra, because a norm is quantized by accident only, which the header shows
without it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING

from ln_audit.errors import UnsupportedError

if TYPE_CHECKING:
    from types import ModuleType

    from ln_audit.formats.gguf_types import GgmlType

MAX_ELEMENTS = 16_777_216  # 64 MB of float32; the widest norms have some 50,000
# What every package since 0.10 dequantizes; a norm of another type is not read.
DEQUANTIZED = frozenset({
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS",
})  # fmt: skip
_EXTRA = 'pip install "ln-audit[gguf]"'


def readable(*, big_endian: bool) -> frozenset[str]:
    """The quantized types whose values can be had here: none without the package, nor in the other byte order."""
    return DEQUANTIZED if not big_endian and find_spec("gguf") is not None else frozenset()


def dequantized(data: bytes, kind: GgmlType, shape: tuple[int, ...], where: str) -> bytes:
    """Little-endian float32 of that shape. `where` names file and tensor. Raises `UnsupportedError`."""
    if prod(shape) > MAX_ELEMENTS:
        raise UnsupportedError(
            f"{where}: {kind.name}: expected at most {MAX_ELEMENTS:,} elements to dequantize, found {prod(shape):,}"
        )
    gguf = _package(f"{where}: {kind.name}")
    if not prod(shape):
        return b""
    import numpy as np

    rows = np.frombuffer(data, np.uint8).reshape(-1, shape[-1] // kind.block * kind.nbytes)
    try:
        with np.errstate(all="ignore"):  # an infinite scale is a value to be judged, not a reason to warn
            values = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType[kind.name])
    except (NotImplementedError, KeyError) as cause:
        raise UnsupportedError(
            f"{where}: expected a type that the gguf package can dequantize, found {kind.name}",
            hint=f"pip install --upgrade gguf, if a newer one knows {kind.name}",
        ) from cause
    return bytes(values.astype("<f4", copy=False).tobytes())


def _package(where: str) -> ModuleType:
    try:
        gguf = import_module("gguf")
        import_module("gguf.quants")
    except ImportError as cause:
        raise UnsupportedError(
            f"{where}: expected the gguf package, which dequantizes it, found it is not installed", hint=_EXTRA
        ) from cause
    return gguf
