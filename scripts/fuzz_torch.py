"""Random mutations of good PyTorch files, both containers, through the reader that needs no PyTorch.

    python scripts/fuzz_torch.py [COUNT [SEED]]     50,000 mutations by default; exit 1 on the first fault

For each: nothing but `FormatError` leaves the reader, what is read has the size that its header says, no code is run, no
module or file opened (an audit hook listens), less than 5 s each and, over the whole run, less than 100 MB more memory.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from ln_audit.errors import FormatError
from ln_audit.formats.pickle_machine import HANDLERS
from ln_audit.formats.pickle_tape import VALUES
from ln_audit.formats.torch_pickle import read_checkpoint, read_tensors
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import Tensor, Writer, archive, save, save_legacy

TOKENS = [
    *(bytes([opcode]) for opcode in (*VALUES, *HANDLERS)),
    *(b"cos\nsystem\n", b"\x8c\x02os\x8c\x06system\x93", b"ccollections\nOrderedDict\n", b"ctorch\nDoubleStorage\n", b"\x85R"),
    *(b"X\xff\xff\xff\xff", b"\x8a\xff", b"r\xff\xff\xff\x7f", b"storage", b"\xff" * 8, b"\x7f" * 4, bytes(8), b"PK\5\6", b"."),
]  # fmt: skip
# Audit events of code that runs, is brought in or reaches out (docs.python.org/3/library/audit_events.html).
FORBIDDEN = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "pickle.", "shutil.")
_executed: list[str] = []


def good_files() -> list[bytes]:
    """A training checkpoint with views, a tied tensor and an optimizer, in both containers, and one deflated."""
    base = np.arange(24, dtype=np.float32)
    tied = Tensor("0", base, 0, (4, 6), (6, 1))
    model = {"wte.weight": tied, "ln_f.weight": Tensor("1", base[:6], 0, (6,), (1,)), "head.weight": tied}
    model["column.b"] = Tensor("0", base, 2, (4,), (6,))
    model["short.b"] = Tensor("2", np.arange(5, dtype=np.uint16), 1, (3,), (1,))
    value = {"model": model, "optimizer": {"state": {0: {"exp_avg": tied}}}, "step": 3, "args": [1.5, "a", None, True]}
    writer = Writer()
    packed = {"m/data.pkl": writer.pickle(value), **{f"m/data/{k}": v.tobytes() for k, v in writer.storages.items()}}
    packed["m/version"] = b"3"
    return [save(value), save_legacy(value), archive(packed, 8)]


def mutate(rng: random.Random, data: bytes) -> bytes:
    """One to four edits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        at = rng.randrange(len(changed) + 1)
        token = rng.choice(TOKENS)
        kind = rng.randrange(7)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at : at + rng.choice((1, 1, 2, 8, 40))]
        elif kind == 3:
            changed[at:at] = token
        elif kind == 4:
            changed[at : at + len(token)] = token
        elif kind == 5:
            changed[at:at] = changed[at : at + rng.randrange(1, 60)]
        else:
            other = rng.randrange(len(changed) + 1)
            changed[at : at + 4] = changed[other : other + 4]
    return bytes(changed)


def mutate_inside(rng: random.Random, data: bytes) -> bytes:
    """The same of an archive's pickle alone, put into a sound archive again: what the zip reader would not let through."""
    begin = 30 + len("model/data.pkl")
    size = int.from_bytes(data[22:26], "little")
    members = {
        "model/data.pkl": mutate(rng, data[begin : begin + size]),
        "model/byteorder": b"little",
        "model/version": b"3",
    }
    base = np.arange(24, dtype=np.float32)
    storages: dict[str, np.ndarray] = {"0": base, "1": base[:6], "2": np.arange(5, dtype=np.uint16)}
    return archive({**members, **{f"model/data/{key}": value.tobytes() for key, value in storages.items()}})


def outcome(data: bytes) -> str:
    """`read` or `refused`. Anything but `FormatError` is a bug and passes through."""
    source = MemorySource({"f.pt": data})
    try:
        checkpoint = read_checkpoint(source, "f.pt")
        stored = checkpoint.read(list(checkpoint.tensors))
        read_tensors(source, "f.pt", [])
    except FormatError:
        return "refused"
    if any(len(value.data) != checkpoint.tensors[name].nbytes for name, value in stored.items()):
        return "read with another size than its header says"
    return "read"


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith(FORBIDDEN):
        _executed.append(f"{event} {arguments!r}"[:200])


def main(count: int, seed: int) -> int:
    """Prints a tally; 1 when a mutation was treated wrongly."""
    good, rng = good_files(), random.Random(seed)
    if {outcome(data) for data in good} != {"read"}:
        print("a file without any mutation is refused")
        return 1
    tally: dict[str, int] = {}
    slowest, before = 0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    b"a".decode("raw_unicode_escape")  # a codec is a module, brought in at its first use
    sys.addaudithook(_listen)
    for number in range(count):
        which = number % 4
        data = mutate_inside(rng, good[0]) if which == 3 else mutate(rng, good[which])
        _executed.clear()
        start = time.perf_counter()
        found = outcome(data)
        slowest = max(slowest, time.perf_counter() - start)
        container = ("zip", "legacy", "deflated zip", "pickle in a zip")[which]
        tally[f"{container}: {found}"] = tally.get(f"{container}: {found}", 0) + 1
        if _executed or found not in ("read", "refused"):
            print(f"mutation {number} of seed {seed}: {found}, {_executed}: {data!r}")
            return 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(*(f"{n:8,}  {what}" for what, n in sorted(tally.items())), sep="\n")
    print(f"slowest {slowest * 1000:.1f} ms, memory grown by {grown:.1f} MB")
    return int(slowest > 5 or grown > 100)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [50_000, 0][len(given) :])))
