"""PyTorch's format since 1.6: a zip archive of `<name>/data.pkl` and one stored member `<name>/data/<key>` per storage.

Source: torch 2.13, `serialization.py` `_save` and `_load`; `caffe2/serialize/inline_container.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.pickle_machine import Machine
from ln_audit.formats.pickle_tape import MAX_PICKLE, Tape
from ln_audit.formats.shown import shown
from ln_audit.formats.torch_names import names
from ln_audit.formats.torch_storages import NO_VIEW, Storages
from ln_audit.formats.torch_views import Saved
from ln_audit.formats.zip_members import LOCAL, open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ln_audit.core import Range, Source
    from ln_audit.formats.torch_views import Fetch, Storage
    from ln_audit.formats.zip_members import Archive

MAX_UNPACKED = 2**26  # bytes of deflated members in one read; PyTorch itself never deflates
MAX_NOTE = 64  # bytes of the members that hold one word
VERSIONS = {b"%d" % number for number in range(1, 11)}  # torch 2.13: kMinSupportedFileFormatVersion and kMax…
_PICKLE = "/data.pkl"


def recognises(prefix: bytes) -> bool:
    """Whether a zip archive begins like PyTorch's: with the member `<name>/data.pkl`."""
    length = int.from_bytes(prefix[26:28], "little")
    return prefix.startswith(LOCAL) and prefix[30 : 30 + length].endswith(_PICKLE.encode())


def read_archive(source: Source, file: str, prefix: bytes) -> Saved:
    """What was saved. Raises `FormatError`."""
    archive = open_archive(source, file, prefix)
    root = _root(archive)
    pickle, big_endian = _contents(archive, root)
    storages = Storages(NO_VIEW)
    tape = Tape(pickle, file, "data.pkl ")
    saved = Machine(tape, names(), storages.persistent).run()
    if tape.at != len(pickle):
        raise tape.fault("the pickle's end at the end of data.pkl", f"{len(pickle) - tape.at:,} bytes more")
    for storage in storages.found.values():
        _check(archive, root, storage)
    return Saved(saved, _fetch(archive, root), _place(archive, root), big_endian)


def _root(archive: Archive) -> str:
    """The folder inside the archive that everything lies in."""
    members = archive.members
    roots = [name.removesuffix(_PICKLE) for name in members if name.endswith(_PICKLE) and name.count("/") == 1]
    if len(roots) != 1:
        some = ", ".join(shown(name) for name in list(members)[:4])
        found = f"{len(roots)} of them" if roots else f"{len(members):,} members: {some}"
        raise FormatError(f"{archive.file}: expected one <name>/data.pkl in the archive, found {found}")
    root = roots[0]
    if f"{root}/constants.pkl" in members or any(name.startswith(f"{root}/code/") for name in members):
        raise UnsupportedError(
            f"{archive.file}: expected a state dict, found a TorchScript program with its weights",
            hint="save `torch.jit.load(FILE).state_dict()` instead; nothing of the program was executed",
        )
    return root


def _contents(archive: Archive, root: str) -> tuple[bytes, bool]:
    """The pickle, and whether storages are big-endian: files from before PyTorch 2.1 do not say so and are not."""
    limits = {root + _PICKLE: MAX_PICKLE}
    limits |= {f"{root}/{name}": MAX_NOTE for name in ("version", "byteorder") if f"{root}/{name}" in archive.members}
    contents = archive.whole(limits)
    version = contents.get(f"{root}/version", b"none").strip()
    if version not in VERSIONS:
        raise UnsupportedError(
            f"{archive.file}: version: expected 1 to {len(VERSIONS)} of the format, found {shown(version)}"
        )
    order = contents.get(f"{root}/byteorder", b"little")
    if order not in {b"little", b"big"}:
        raise FormatError(f"{archive.file}: byteorder: expected little or big, found {shown(order)}")
    return contents[root + _PICKLE], order == b"big"


def _check(archive: Archive, root: str, storage: Storage) -> None:
    """The storage is there and as large as the pickle says. Raises `FormatError`."""
    member = archive.members.get(f"{root}/data/{storage.key}")
    found = "no such member" if member is None else f"{member.size:,}"
    if member is None or member.size != storage.nbytes:
        raise FormatError(
            f"{archive.file}: storage {shown(storage.key)}: expected {storage.nbytes:,} bytes in "
            f"{shown(f'{root}/data/{storage.key}')}, found {found}"
        )


def _fetch(archive: Archive, root: str) -> Fetch:
    def fetch(pieces: Sequence[tuple[Storage, Range]]) -> list[bytes]:
        wanted = [(archive.members[f"{root}/data/{storage.key}"], range_) for storage, range_ in pieces]
        return archive.read(wanted, MAX_UNPACKED)

    return fetch


def _place(archive: Archive, root: str) -> Callable[[Storage], int]:
    return lambda storage: archive.place(f"{root}/data/{storage.key}")
