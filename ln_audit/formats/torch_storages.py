"""The storages that a pickle names by its persistent ids, each with one size and one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import FormatError
from ln_audit.formats.pickle_stack import described
from ln_audit.formats.shown import shown
from ln_audit.formats.torch_views import Kind, Storage, size

if TYPE_CHECKING:
    from ln_audit.formats.pickle_stack import Place

NO_VIEW = 5  # a persistent id: "storage", type, key, location, elements
WITH_VIEW = 6  # … and None, or the key, offset and size of a storage inside this one: before PyTorch 1.6


class Storages:
    """Collects them while a pickle runs."""

    def __init__(self, parts: int) -> None:
        """`parts` is the length of a persistent id in this container."""
        self.parts = parts
        self.found: dict[str, Storage] = {}

    def persistent(self, saved: object, where: Place) -> Storage:
        """The storage of a persistent id. Raises `FormatError` for anything else: old files name classes and their source so."""
        if type(saved) is not tuple or len(saved) != self.parts or _text(saved[0]) != "storage":
            raise FormatError(f"{where}: persistent id: expected a storage, found {_id(saved)}")
        kind, key = saved[1], _text(saved[2])
        if not isinstance(kind, Kind) or key is None or not len(key) <= 100:
            raise FormatError(f"{where}: persistent id: expected a storage type and a key, found {_id(saved)}")
        count = size(saved[4], where, "elements of a storage")
        storage = Storage(key, kind.dtype, kind.width, count * kind.width)
        known = self.found.setdefault(key, storage)
        if known != storage:
            raise FormatError(
                f"{where}: storage {shown(key)}: expected {known.nbytes:,} bytes of {known.dtype} as before, found "
                f"{storage.nbytes:,} of {storage.dtype}"
            )
        return known if self.parts == NO_VIEW or saved[5] is None else _inside(known, saved[5], where)


def _inside(root: Storage, view: object, where: Place) -> Storage:
    if type(view) is not tuple or len(view) != 3:
        raise FormatError(
            f"{where}: storage {shown(root.key)}: expected key, offset and size of a view, found {described(view)}"
        )
    begin = size(view[1], where, "offset of a storage") * root.width
    nbytes = size(view[2], where, "elements of a storage") * root.width
    if begin + nbytes > root.nbytes:
        raise FormatError(
            f"{where}: storage {shown(root.key)}: expected at least {begin + nbytes:,} bytes, found {root.nbytes:,}"
        )
    return Storage(root.key, root.dtype, root.width, nbytes, begin)


def _text(value: object) -> str | None:
    """A string; Python 2's come as bytes."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else None


def _id(saved: object) -> str:
    if isinstance(saved, tuple):
        return f"({', '.join(described(item) for item in saved[:6])})"
    return described(saved)
