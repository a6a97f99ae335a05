"""PyTorch's format before 1.6: four pickles, a fifth of the storages' keys, then each storage with its length before it.

The pickles are a magic number, the protocol's version, facts of the writer's system, and the object. Each storage is
eight bytes (little-endian: its number of elements) and its elements, little-endian on every machine.
Source: torch 2.13, `serialization.py` `_legacy_save` and `_legacy_load`; `torch/csrc/serialization.cpp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.pickle_machine import Machine
from ln_audit.formats.pickle_stack import Pairs, described
from ln_audit.formats.pickle_tape import MAX_PICKLE, Tape
from ln_audit.formats.shown import shown
from ln_audit.formats.torch_names import names
from ln_audit.formats.torch_storages import WITH_VIEW, Storages
from ln_audit.formats.torch_views import Saved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Source
    from ln_audit.formats.torch_views import Fetch, Storage

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
COUNT = 8  # bytes before each storage
_BEGINNINGS = (
    b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19",
    b"L119547037146038801333356L",
)  # MAGIC, from protocol 2 on and before
_TAR = (257, b"ustar")
_OPENING = b"\x80(])}cilLIFVSUTXNKJMGP\x82\x83\x84\x8c"  # opcodes that a pickle may begin with


def recognises(prefix: bytes) -> bool:
    """Whether a file begins with the magic number."""
    return any(beginning in prefix[:32] for beginning in _BEGINNINGS)


def read_legacy(source: Source, file: str, prefix: bytes) -> Saved:
    """What was saved. Raises `FormatError`."""
    size = source.size(file)
    if prefix[_TAR[0] :].startswith(_TAR[1]):
        raise UnsupportedError(
            f"{file}: expected a zip archive or a pickle of PyTorch, found a tar archive (PyTorch 0.1)",
            hint="load it with PyTorch and save the state dict again",
        )
    if prefix[:1] not in _OPENING:
        raise FormatError(f"{file}: expected a PyTorch file, found {size:,} bytes of an unknown format")
    storages = Storages(WITH_VIEW)
    tape = Tape(prefix, file, "", _more(source, file, size))
    machine = Machine(tape, names(), storages.persistent)
    _expect(file, "magic number", machine.run(), MAGIC, "a pickle that torch.save did not write is not read")
    _expect(file, "protocol version", machine.run(), VERSION, "")
    system = machine.run()
    if not isinstance(system, Pairs):
        raise FormatError(f"{file}: expected facts of the writer's system, found {described(system)}")
    root = machine.run()
    begins = _places(file, machine.run(), storages.found, tape.at, size)
    return Saved(root, _fetch(source, file, begins, storages.found), lambda storage: begins[storage.key] + COUNT)


def _more(source: Source, file: str, size: int) -> Callable[[int], bytes]:
    """Four times as much at each call: a pickle of any length is brought in a few requests, and not all that follows it."""
    return lambda length: source.read(file, [Range(length, min(size, 4 * length, length + MAX_PICKLE))])[0]


def _expect(file: str, what: str, found: object, expected: int, hint: str) -> None:
    if type(found) is not int or found != expected:
        raise FormatError(f"{file}: {what}: expected {expected}, found {described(found)}", hint=hint)


def _places(file: str, keys: object, storages: Mapping[str, Storage], at: int, size: int) -> Mapping[str, int]:
    """Where each storage's count lies: one behind the other, in the order of the keys, to the file's end."""
    if not isinstance(keys, list):
        raise FormatError(f"{file}: expected the keys of the storages, found {described(keys)}")
    places: dict[str, int] = {}
    for key in keys:
        if not isinstance(key, str) or key not in storages or key in places:
            raise FormatError(f"{file}: storage keys: expected each storage of the object once, found {described(key)}")
        places[key] = at
        at += COUNT + storages[key].nbytes
    if len(places) != len(storages):
        lost = next(key for key in storages if key not in places)
        raise FormatError(f"{file}: storage keys: expected {shown(lost)} among them, found {len(places):,} others")
    if at != size:
        hint = "the file was cut short; download or copy it again" if at > size else "bytes were appended to it"
        raise FormatError(f"{file}: size: expected {at:,} bytes as its storages say, found {size:,}", hint=hint)
    return places


def _fetch(source: Source, file: str, places: Mapping[str, int], storages: Mapping[str, Storage]) -> Fetch:
    def fetch(pieces: Sequence[tuple[Storage, Range]]) -> list[bytes]:
        """One read for all: of each storage its count, which is held against the pickle, and the bytes wanted."""
        ranges: list[Range] = []
        for storage, (begin, end) in pieces:
            data = places[storage.key] + COUNT
            ranges += [Range(data - COUNT, data), Range(data + begin, data + end)]
        parts = source.read(file, ranges)
        for (storage, _), count in zip(pieces, parts[::2], strict=True):
            root = storages[storage.key]
            found = int.from_bytes(count, "little")
            if found * root.width != root.nbytes:
                raise FormatError(
                    f"{file}: storage {shown(root.key)}: expected {root.nbytes // root.width:,} elements, found {found:,}"
                )
        return parts[1::2]

    return fetch
