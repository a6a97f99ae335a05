"""Values from a file as a message may show them."""

import contextlib
import struct
from reprlib import Repr

# Hostile names are megabytes long and hostile arrays a thousand deep: repr itself would fail on those.
_REPR = Repr()
_REPR.maxlevel, _REPR.maxlist, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 2, 8, 4, 80, 80


def shown(value: object) -> str:
    """One line, ASCII, short."""
    return _REPR.repr(value).encode("ascii", "backslashreplace").decode()


def number(value: float) -> str:
    """A number as people write it: the shortest that is the same in the precision it has.

    GGUF and ONNX keep epsilon as float32, and 1e-05 comes back from there as 9.999999747378752e-06.
    """
    with contextlib.suppress(OverflowError):  # beyond float32
        single = struct.pack("<f", value)
        if struct.unpack("<f", single)[0] == value:
            written = (f"{value:.{digits}g}" for digits in range(1, 10))
            text = next(text for text in written if struct.pack("<f", float(text)) == single)
            return repr(float(text))
    return repr(value)
