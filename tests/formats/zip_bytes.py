"""Archives to be damaged, and what is said of them then."""

from __future__ import annotations

import pytest

from ln_audit.errors import FormatError
from ln_audit.formats.zip_members import Archive, open_archive
from tests.formats.memory_source import MemorySource

CONTENT = {"a/data.pkl": b"the pickle", "a/data/0": bytes(range(100)), "a/empty": b"", "a/\u017c": b"z"}


def opened(data: bytes) -> Archive:
    return open_archive(MemorySource({"f": data}), "f")


def first(data: bytes) -> bytes:
    """The content of the first member."""
    it = opened(data)
    name = next(iter(it.members))
    return it.whole({name: 10**6})[name]


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        first(data)
    return caught.value.message


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def directory(data: bytes) -> int:
    """Where the directory of an archive that zipfile wrote begins."""
    return int.from_bytes(data[-6:-2], "little")
