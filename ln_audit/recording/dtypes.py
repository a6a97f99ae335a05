"""The four dtypes of recorded states, as npy and safetensors spell them, and their bytes as numbers of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError

if TYPE_CHECKING:
    import numpy as np

NAMES = "bfloat16, float16, float32 or float64"


class Element(NamedTuple):
    """One stored number: numpy's name of its dtype, its bytes, and whether the highest byte comes first."""

    name: str
    size: int
    big_endian: bool = False


NPY = {
    order + code: Element(name, size, big_endian)
    for order, big_endian in (("<", False), (">", True))
    for code, name, size in (("f2", "float16", 2), ("f4", "float32", 4), ("f8", "float64", 8))
}
SAFETENSORS = {
    "BF16": Element("bfloat16", 2),
    "F16": Element("float16", 2),
    "F32": Element("float32", 4),
    "F64": Element("float64", 8),
}


def npy_element(descr: str, label: str) -> Element:
    """What a npy `descr` stands for. Raises `RecordingError`: object arrays hold pickles, and those run code."""
    if descr in NPY:
        return NPY[descr]
    found, hint = descr, "save it with .astype('float32')"
    if descr.endswith("V2"):
        found = f"{descr}, two bytes without a type (numpy saves bfloat16 so)"
        hint = "save the array as safetensors, which keeps bfloat16, or with .astype('float32')"
    elif "O" in descr:
        found = f"{descr}, Python objects, which are never read because reading them runs code"
    elif descr.startswith("["):
        found = "a structured dtype"
    raise RecordingError(f"{label}: dtype: expected {NAMES}, found {found}", hint=hint)


def safetensors_element(dtype: str, label: str) -> Element:
    """What a safetensors dtype stands for. Raises `RecordingError`."""
    if dtype not in SAFETENSORS:
        raise RecordingError(f"{label}: dtype: expected {NAMES}, found {dtype}", hint="record the states as they are")
    return SAFETENSORS[dtype]


def numbers(data: bytes | memoryview, element: Element) -> np.ndarray[Any, Any]:
    """The stored bytes as a flat array in this machine's byte order, bfloat16 through ml_dtypes."""
    import numpy as np

    stored = np.frombuffer(data, dtype=f"{'>' if element.big_endian else '<'}u{element.size}")
    native = stored.astype(f"=u{element.size}", copy=False)
    if element.name == "bfloat16":
        import ml_dtypes

        return native.view(ml_dtypes.bfloat16)
    return native.view(element.name)
