"""The token ids that a model is run on: of a text, of a file, or by chance, in segments of bounded length."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    Ids = np.ndarray[Any, Any]

LONGEST = 512  # tokens of one forward pass: attention and logits grow with it, and so does memory
_SEED = 0
_MOST_BYTES = 2**28  # of a text file of ids; arrays are mapped and may be of any size
_MOST_WORDS = 2**24  # of a vocabulary; the largest known have 262,144


def segments(ids: Ids | Chance, length: int) -> Iterator[Ids]:
    """The ids in pieces of at most `length`, each int64 and read only when its turn has come."""
    for at in range(0, len(ids), length):
        yield ids[at : at + length].astype("int64")


def read(path: str, vocabulary: int) -> Ids:
    """Ids of a `.npy` file, mapped into memory, or of a text of numbers. Raises `UsageError`."""
    import numpy as np

    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - a pipe can be read once, if ever
        raise UsageError(f"--tokens {path}: expected an array (.npy) or a text of token ids, found: no ordinary file")
    try:
        with Path(path).open("rb") as file:
            is_array = file.read(6) == b"\x93NUMPY"
        ids = np.load(path, mmap_mode="r", allow_pickle=False).reshape(-1) if is_array else _of_text(path)
    except (OSError, ValueError, OverflowError, EOFError) as error:
        raise UsageError(f"--tokens {path}: expected an array (.npy) or a text of token ids, found: {error}") from error
    if ids.dtype.kind not in "iu":
        raise UsageError(f"--tokens {path}: expected whole numbers, found {ids.dtype}")
    _check(ids, vocabulary, path)
    return ids


def random(count: int, vocabulary: int, special: frozenset[int]) -> Chance:
    """`count` ids that stand for text, the same each time: no padding, no image placeholder.

    Raises `UsageError` for a vocabulary that no model has.
    """
    import numpy as np

    if not 0 < vocabulary <= _MOST_WORDS:
        raise UsageError(
            f"--random: expected a vocabulary of 1 to {_MOST_WORDS:,} words, found {vocabulary:,}",
            hint="give --tokens FILE",
        )
    allowed = np.setdiff1d(np.arange(vocabulary), list(special))
    return Chance(allowed if allowed.size else np.arange(vocabulary), count)


@dataclass(frozen=True, slots=True)
class Chance:
    """Ids drawn when they are asked for, so that a hundred million cost no memory."""

    allowed: Ids
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice) -> Ids:
        """The ids of a part, drawn by where it begins. [n]"""
        import numpy as np

        begin, end, _ = part.indices(self.count)
        draw = np.random.RandomState([_SEED, begin % 2**32])
        picked: Ids = self.allowed[draw.randint(0, self.allowed.size, end - begin)]
        return picked


def _of_text(path: str) -> Ids:
    import numpy as np

    if Path(path).stat().st_size > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES:,} bytes of text; save the ids with numpy.save")
    words = re.split(r"[\s,\[\]]+", Path(path).read_text(encoding="utf-8"))
    return np.array([int(word) for word in words if word], dtype=np.int64)


def _check(ids: Ids, vocabulary: int, path: str) -> None:
    if not len(ids):
        raise UsageError(f"--tokens {path}: expected at least one token id, found none")
    for at in range(0, len(ids), 2**20):
        block = ids[at : at + 2**20]
        for extreme in (block.min(), block.max()):
            if not 0 <= extreme < vocabulary:
                raise UsageError(f"--tokens {path}: expected ids from 0 to {vocabulary - 1:,}, found {int(extreme):,}")
