"""Random mutations of good GGUF files of both byte orders: nothing but FormatError comes out, and no nonsense goes in.

    python scripts/fuzz_gguf.py [COUNT [SEED]]     50,000 mutations by default; exit 1 on the first wrong one

For each: no exception but FormatError; of what is accepted every tensor lies inside the file and in nobody else's bytes;
less than 5 s and, over the whole run, less than 100 MB more memory. Where the gguf package is installed, its reader must
see the same tensors in whatever both accept; it is asked only about files that ours accepts, since it loops for ever on
some others.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import resource
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ln_audit.errors import FormatError
from ln_audit.formats.dtypes import decode
from ln_audit.formats.gguf import read_checkpoint
from ln_audit.formats.gguf_header import read_header
from tests.formats.gguf_file import small
from tests.formats.memory_source import MemorySource

NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    12,
    13,
    31,
    32,
    33,
    255,
    2**16,
    2**24,
    2**31,
    2**32 - 1,
    2**61,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
TEXTS = (b"GGUF", b"general.alignment", b"split.count", b"\xff\xfe", b"output_norm.weight", b"\0" * 8)


def good_files() -> list[bytes]:
    """The same small model, little-endian and big-endian, version 3 and 2."""
    files = []
    for order, version in (("<", 3), (">", 3), ("<", 2)):
        file = small()
        file.order, file.version = order, version
        files.append(file.whole())
    return files


def mutate(rng: random.Random, data: bytes) -> bytes:
    """One to four edits, mostly in the header, where a reader can go wrong."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        at = rng.randrange(len(changed) if rng.random() < 0.15 else max(1, len(changed) - 400)) if changed else 0
        kind = rng.randrange(7)
        if kind == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[at] = rng.randrange(256)
        elif kind == 2:  # a count, a length, a size, a type, an offset
            form = rng.choice("<>") + rng.choice("IQQ")
            raw = struct.pack(form, rng.choice(NUMBERS) % 2 ** (8 * struct.calcsize(form)))
            changed[at : at + len(raw)] = raw
        elif kind == 3:
            del changed[at : at + rng.choice((1, 1, 4, 8, 40))]
        elif kind == 4:
            text = rng.choice(TEXTS)
            changed[at : at + len(text) * rng.randrange(2)] = text
        elif kind == 5:
            changed[at:at] = changed[at : at + rng.randrange(1, 80)]
        else:
            changed[rng.randrange(len(changed) + 1) :] = rng.randbytes(rng.choice((0, 0, 1, 8)))
    return bytes(changed)


def accepts(data: bytes) -> bool:
    """Ours. What is accepted is read whole; anything but `FormatError` is a bug and passes through."""
    source = MemorySource({"f": data})
    try:
        checkpoint = read_checkpoint(source, "f")
    except FormatError:
        return False
    check_ranges(data)
    plain = [
        name for name, info in checkpoint.tensors.items() if not info.dtype.startswith(("Q", "IQ", "TQ", "MX", "NV"))
    ]
    for name, stored in checkpoint.read(plain).items():
        decode(stored)
        if len(stored.data) != checkpoint.tensors[name].nbytes:
            raise AssertionError(f"{name!r}: {len(stored.data)} bytes read, {checkpoint.tensors[name]}")
    return True


def check_ranges(data: bytes) -> None:
    """Every byte of an accepted file belongs to at most one tensor, and none to the header as well."""
    reached = 24
    for entry in sorted(read_header(MemorySource({"f": data}), "f").tensors.values(), key=lambda entry: entry.range):
        if entry.range.begin < entry.range.end:
            if not reached <= entry.range.begin < entry.range.end <= len(data):
                raise AssertionError(f"bytes {entry.range} after {reached} in a file of {len(data)}")
            reached = entry.range.end


def reference_tensors(data: bytes, folder: str) -> dict[str, object] | None:
    """Shape, type and bytes as the gguf package's own reader sees them; None when it refuses the file."""
    path = Path(folder) / "f.gguf"
    path.write_bytes(data)
    try:
        tensors = importlib.import_module("gguf").GGUFReader(path).tensors
    except (ValueError, KeyError, IndexError, OverflowError, UnicodeDecodeError, TypeError):
        return None
    return {t.name: (tuple(reversed(t.shape.tolist())), t.tensor_type.name, t.data.tobytes()) for t in tensors}


def our_tensors(data: bytes) -> dict[str, object]:
    """The same as ours sees them; the bytes as they lie in the file."""
    header = read_header(MemorySource({"f": data}), "f")
    return {name: (entry.shape, entry.type.name, data[slice(*entry.range)]) for name, entry in header.tensors.items()}


def main(count: int, seed: int) -> int:
    """Prints a tally; 1 when a mutation was treated wrongly."""
    files, rng = good_files(), random.Random(seed)
    reference = importlib.util.find_spec("gguf") is not None
    tally: dict[str, int] = {}
    slowest, before = 0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            data = mutate(rng, rng.choice(files))
            start = time.perf_counter()
            ours = accepts(data)
            slowest = max(slowest, time.perf_counter() - start)
            outcome = "accepted" if ours else "refused"
            if ours and reference:
                theirs = reference_tensors(data, folder)
                outcome += ", gguf refuses" if theirs is None else ", gguf agrees"
                if theirs is not None and theirs != our_tensors(data):
                    print(f"mutation {number} of seed {seed}: {data!r}\nours {our_tensors(data)}\ntheirs {theirs}")
                    return 1
            tally[outcome] = tally.get(outcome, 0) + 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(*(f"{n:8,}  {what}" for what, n in tally.items()), sep="\n")
    print(f"slowest {slowest * 1000:.1f} ms, memory grown by {grown:.1f} MB")
    return int(slowest > 5 or grown > 100)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [50_000, 0][len(given) :])))
