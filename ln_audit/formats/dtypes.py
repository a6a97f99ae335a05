"""Stored bytes to numbers, once for all formats.

`Stored.dtype` uses safetensors' names. Widths are those of the reference reader (safetensors 0.8, `Dtype::bitsize`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import FormatError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.core import Stored


MAX_EXTENT = 1 << 62  # bytes; NumPy's own limit is 2^63


class Dtype(NamedTuple):
    """Width of one value in bits, and its name in NumPy or ml_dtypes.

    No name where the format does not say in which order several values share a byte.
    """

    bits: int
    numpy: str | None


DTYPES: dict[str, Dtype] = {
    "BOOL": Dtype(8, "bool"),
    "F4": Dtype(4, None),
    "F6_E2M3": Dtype(6, None),
    "F6_E3M2": Dtype(6, None),
    "U8": Dtype(8, "uint8"),
    "I8": Dtype(8, "int8"),
    "F8_E5M2": Dtype(8, "float8_e5m2"),
    "F8_E4M3": Dtype(8, "float8_e4m3fn"),
    "F8_E8M0": Dtype(8, "float8_e8m0fnu"),
    "F8_E4M3FNUZ": Dtype(8, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": Dtype(8, "float8_e5m2fnuz"),
    "I16": Dtype(16, "int16"),
    "U16": Dtype(16, "uint16"),
    "F16": Dtype(16, "float16"),
    "BF16": Dtype(16, "bfloat16"),
    "I32": Dtype(32, "int32"),
    "U32": Dtype(32, "uint32"),
    "F32": Dtype(32, "float32"),
    "C64": Dtype(64, "complex64"),
    "F64": Dtype(64, "float64"),
    "I64": Dtype(64, "int64"),
    "U64": Dtype(64, "uint64"),
}

# No reader knows these yet and each is a letter away from a known dtype; but PyTorch has them: no slip of the pen.
FORTHCOMING = frozenset({"I4", "U4", "I2", "U2", "C32"})
# Letters, bits, and for small floats how they are shared between exponent, mantissa and bias, as in F8_E4M3B11FNUZ.
_STATES_ITS_WIDTH = re.compile(r"[A-Z]{1,4}([1-8]|12|16|24|32|64|128)(?:_E\dM\d(?:B\d\d)?(?:FN|FNU|FNUZ)?)?")
_A_WORD = re.compile(r"[A-Z_]{2,32}")


def array(stored: Stored) -> np.ndarray[Any, Any]:
    """The values in their own dtype, shaped, read-only. Raises `UnsupportedError` for a dtype without one."""
    import numpy as np

    known = DTYPES.get(stored.dtype)
    if known is None or known.numpy is None:
        raise UnsupportedError(
            f"dtype {stored.dtype}: expected one whose values can be read, found a packed or unknown one"
        )
    if (
        prod(max(extent, 1) for extent in stored.shape) * known.bits // 8 > MAX_EXTENT
    ):  # NumPy counts them even beside a 0
        raise UnsupportedError(f"{stored.dtype} {list(stored.shape)}: expected extents that can be counted, found more")
    expected = prod(stored.shape) * known.bits // 8
    if len(stored.data) != expected:
        raise FormatError(
            f"{stored.dtype} {list(stored.shape)}: expected {expected:,} bytes, found {len(stored.data):,}"
        )
    if known.numpy == "complex64":  # two little-endian halves, not one number of eight bytes
        return np.frombuffer(stored.data, "<f4").astype("=f4", copy=False).view(np.complex64).reshape(stored.shape)
    unit = known.bits // 8  # through an integer of the same width: ml_dtypes' types know no byte order
    raw = np.frombuffer(stored.data, f"<u{unit}").astype(f"=u{unit}", copy=False)
    return raw.view(numpy_dtype(stored.dtype)).reshape(stored.shape)


def decode(stored: Stored) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values as float64, shaped: exact for every floating dtype up to F64 and integers up to 2^53.

    Raises `UnsupportedError` for complex, packed and unknown dtypes.
    """
    import numpy as np

    if stored.dtype == "C64":
        raise UnsupportedError("dtype C64: expected real values, found complex ones")
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value to be judged, not a reason to warn
        return array(stored).astype(np.float64)


class Decoded(Mapping[str, "np.ndarray[Any, np.dtype[np.float64]]"]):
    """Stored tensors as float64, each decoded when it is asked for: four times the bytes of bfloat16 are never all in memory.

    Raises at once what decoding one of them would.
    """

    def __init__(self, stored: Mapping[str, Stored]) -> None:
        for each in stored.values():
            array(each)
        self._stored = stored

    def __getitem__(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return decode(self._stored[name])

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def readable(name: str) -> bool:
    """Whether `decode` gives values of this dtype: real numbers, each in bytes of its own."""
    known = DTYPES.get(name)
    return known is not None and known.numpy is not None and name != "C64"


def unit_roundoff(dtype: str) -> float:
    """The largest relative error of rounding to a stored dtype, to nearest; 0 for one that is no binary format of IEEE 754's."""
    from ln_audit.numerics.floats import FORMATS

    known = DTYPES.get(dtype)
    found = None if known is None else FORMATS.get(known.numpy or "")
    return 0.0 if found is None else found.u


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of NumPy, or of ml_dtypes where NumPy has none, for safetensors' name. Raises `UnsupportedError`."""
    import numpy as np

    known = DTYPES.get(name)
    if known is None or known.numpy is None:
        raise UnsupportedError(f"dtype {name}: expected one whose values can be read, found a packed or unknown one")
    if name == "BF16" or name.startswith("F8_"):
        import ml_dtypes

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, known.numpy))
        return dtype
    return np.dtype(known.numpy)


def misspelt(name: str, elements: int, nbytes: int) -> str | None:
    """Why `name` cannot be a dtype that is merely newer than this version, or None if it can.

    A newer dtype of a tensor that nobody asks for is no reason to refuse a file; a damaged header is: `G32` for F32
    loads nowhere. So an unknown name must not be one character off a known one of this size, and must keep the width
    that it states.
    """
    fitting = [known for known, (bits, _) in DTYPES.items() if elements * bits == nbytes * 8]
    meant = [known for known in fitting if _one_edit_apart(name, known)]
    if meant and name not in FORTHCOMING:
        return f"expected {' or '.join(meant)}, by its shape and size"
    stated = _STATES_ITS_WIDTH.fullmatch(name)
    if stated is None:
        return None if _A_WORD.fullmatch(name) else "expected a dtype such as F32"
    if elements * int(stated[1]) != nbytes * 8:
        return f"expected {elements:,} values of {stated[1]} bits in {nbytes:,} bytes"
    return None


def _one_edit_apart(a: str, b: str) -> bool:
    """Whether one character replaced, added or removed turns one name into the other."""
    short, long = sorted((a, b), key=len)
    if len(long) - len(short) > 1:
        return False
    same = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]
