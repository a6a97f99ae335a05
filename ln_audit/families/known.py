"""Published facts of single models: commit and digests of their norm tensors, never the values themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Norm
    from ln_audit.families.schema import Family

_DATA = Path(__file__).with_name("data") / "known"
ASSETS = Path(__file__).parent.parent / "assets"

# family, number of norms, width → facts file, packaged recording. One line per published model.
KNOWN = {("gpt2", 25, 768): ("gpt2-small.json", "gpt2-small.recording.safetensors")}


class Known(NamedTuple):
    """Published facts about one model: repository, commit, and per norm tensor {sha256, crc32c, fold}.

    `fold` is one byte per float32 element, see `folded`, as hex.
    """

    repo: str
    revision: str
    tensors: Mapping[str, Mapping[str, Any]]
    recording: Path


def folded(data: bytes) -> bytes:
    """One check byte per four: their XOR, the second, third and fourth turned by one, two and three bits.

    It counts how many float32 elements differ without holding their values: every single flipped bit changes it, two bytes
    that changed places nearly always, and an arbitrary other value in 255 of 256 cases.
    """
    parts = zip(*(data[i::4] for i in range(4)), strict=True)
    return bytes(a ^ _turn(b, 1) ^ _turn(c, 2) ^ _turn(d, 3) for a, b, c, d in parts)


def _turn(byte: int, bits: int) -> int:
    return (byte << bits | byte >> 8 - bits) & 0xFF


def known(family: Family, norms: tuple[Norm, ...]) -> Known | None:
    """The published model that has these norms, if there is one: same family, same number of norms, same width."""
    width = norms[-1].width if norms else None
    entry = KNOWN.get((family.name, len(norms), width or 0))
    if entry is None:
        return None
    facts = json.loads((_DATA / entry[0]).read_text(encoding="utf-8"))
    return Known(facts["repo"], facts["revision"], facts["tensors"], ASSETS / entry[1])
