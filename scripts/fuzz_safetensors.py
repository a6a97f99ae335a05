"""Random mutations of a good safetensors file: ours against the reference reader.

    python scripts/fuzz_safetensors.py [COUNT [SEED]]     20,000 mutations by default; exit 1 on the first disagreement

For each: no exception but LnAuditError, nothing accepted that the reference refuses (but a dtype that is merely newer
than both, whose values nobody can read), less than 5 s and, over the whole run, less than 100 MB more memory.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

sys.path.insert(0, str(Path(__file__).parents[1]))

from ln_audit.errors import FormatError, LnAuditError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES, decode
from ln_audit.formats.safetensors import read_checkpoint
from tests.formats.memory_source import MemorySource

if TYPE_CHECKING:
    from ln_audit.core import Stored

TOKENS = [
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"-",
        b"-0",
        b".5",
        b"e3",
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b" ",
        b"\0",
    ),
    *(
        b"18446744073709551615",
        b"18446744073709551616",
        b"9" * 400,
        b"\\ud800",
        b"\xff",
        b"\xf0\x9f\x98\x80",
        b"__metadata__",
    ),
    *(
        b'"dtype":',
        b'"shape":',
        b'"data_offsets":',
        b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},',
        b"[[[[",
        b'{"a":',
    ),
    *(name.encode() for name in DTYPES),
]


def good_file() -> bytes:
    """Several dtypes, a scalar, an empty tensor, odd names, metadata."""
    rng = np.random.default_rng(7)
    tensors = {
        "transformer.ln_f.weight": rng.normal(size=6).astype(np.float32),
        "transformer.ln_f.bias": rng.normal(size=6).astype(np.float32),
        "h.0.attn.bias": np.ones((1, 1, 3, 3), np.uint8),
        "scalar": np.array(1.5),
        "empty": np.zeros((0, 4), np.float16),
        'odd " \\ \u00e9 \U0001f600 \x07': np.arange(3),
    }
    return bytes(save(tensors, {"format": "pt", "note": "a\nb"}))


def mutate(rng: random.Random, data: bytes) -> bytes:
    """One to four edits, mostly in the header, where a reader can go wrong."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        length = int.from_bytes(data[:8], "little")
        at = rng.randrange(min(len(changed), 8 + length) if rng.random() < 0.85 else len(changed)) if changed else 0
        kind = rng.randrange(8)
        if kind == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at : at + rng.choice((1, 1, 2, 8, 40))]
        elif kind == 3:
            changed[at:at] = rng.choice(TOKENS)
        elif kind == 4:
            token = rng.choice(TOKENS)
            changed[at : at + len(token)] = token
        elif kind == 5:
            changed[at:at] = changed[at : at + rng.randrange(1, 60)]
        elif kind == 6:
            changed[rng.randrange(len(changed) + 1) :] = (
                b"" if rng.random() < 0.5 else rng.randbytes(rng.randrange(1, 9))
            )
        else:  # numbers and names, the length kept: what survives the parser and must be caught by its meaning
            digits = [
                i for i in range(8, min(len(changed), 8 + length)) if 48 <= changed[i] <= 57 or 65 <= changed[i] <= 90
            ]
            if digits:
                changed[rng.choice(digits)] = rng.choice(b"0123456789ABFIUXL_")
    if (
        rng.random() < 0.5 and len(changed) >= 8 and changed[:8] == data[:8]
    ):  # let the length follow the header's new size
        changed[:8] = max(int.from_bytes(changed[:8], "little") + len(changed) - len(data), 0).to_bytes(8, "little")
    return bytes(changed)


def reference_accepts(data: bytes) -> bool:
    """The reference reader's verdict; a dtype it does not know is a refusal like any other."""
    try:
        deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError:
        return False
    return True


def accepts(data: bytes) -> bool:
    """Ours. Everything readable is read and decoded; anything but `LnAuditError` is a bug and passes through."""
    try:
        checkpoint = read_checkpoint(MemorySource({"f": data}), "f")
    except FormatError:
        return False
    return all(_decodes(stored) for stored in checkpoint.read(list(checkpoint.tensors)).values())


def unknown_dtypes(data: bytes) -> set[str]:
    """Dtypes that were let pass without being known; none of their values can be read, so nothing can be concluded."""
    try:
        checkpoint = read_checkpoint(MemorySource({"f": data}), "f")
    except LnAuditError:
        return set()
    return {info.dtype for info in checkpoint.tensors.values() if info.dtype not in DTYPES}


def _decodes(stored: Stored) -> bool:
    """A dtype without values is fine as long as nobody asks for it, if its name is known."""
    try:
        decode(stored)
    except UnsupportedError:
        return stored.dtype in DTYPES
    return True


def main(count: int, seed: int) -> int:
    """Prints a tally; 1 when a mutation was treated wrongly."""
    good, rng = good_file(), random.Random(seed)
    tally: dict[str, int] = {}
    slowest, before = 0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        data = mutate(rng, good)
        start = time.perf_counter()
        ours = accepts(data)
        slowest = max(slowest, time.perf_counter() - start)
        theirs = reference_accepts(data)
        outcome = f"ours {'takes' if ours else 'refuses'}, reference {'takes' if theirs else 'refuses'}"
        tally[outcome] = tally.get(outcome, 0) + 1
        for name in unknown_dtypes(data):
            tally[f"let pass with the dtype {name}"] = tally.get(f"let pass with the dtype {name}", 0) + 1
        if ours and not theirs:
            print(f"mutation {number} of seed {seed}: accepted, but the reference refuses it: {data!r}")
            return 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(*(f"{n:8,}  {what}" for what, n in sorted(tally.items())), sep="\n")
    print(f"slowest {slowest * 1000:.1f} ms, memory grown by {grown:.1f} MB")
    return int(slowest > 5 or grown > 100)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [20_000, 0][len(given) :])))
