"""What `record` is asked to do: which tokens the model reads, which norms are recorded, how the model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

DTYPES = ("float32", "bfloat16", "float16")
LEAST = 64  # positions that `verify --record` runs: enough to tell one norm from another, seconds on any processor


@dataclass(frozen=True, slots=True)
class Recipe:
    """One of `text`, `tokens` (a file of ids) and `random` (so many ids) is given.

    `dtype` None: as the checkpoint stores it. `norms` empty and `all_norms` False: the final norm.
    """

    text: str | None = None
    tokens: str | None = None
    random: int | None = None
    norms: tuple[str, ...] = ()
    all_norms: bool = False
    hidden_states: bool = False
    dtype: str | None = None
    device: str | None = None  # None: cpu

    @property
    def reads(self) -> str:
        """What the model is given, for provenance."""
        if self.text is not None:
            return "a text of the caller's"
        return f"tokens of {self.tokens}" if self.tokens is not None else f"{self.random:,} random tokens"


class Made(NamedTuple):
    """A recording that was made: where, how large, of which norms, how many positions, and by which libraries."""

    path: str
    size: int
    norms: tuple[str, ...]
    positions: int
    framework: str

    def told(self, target: str) -> str:
        """What was made and what to do with it, for a person."""
        names = ", ".join(self.norms[:3]) + (f" and {len(self.norms) - 3} more norms" if len(self.norms) > 3 else "")
        return (
            f"{self.path}: {self.positions:,} positions of {names}, {self.size:,} bytes ({self.framework})\n"
            f"  → ln-audit verify {target} --recording {self.path}\n"
        )
