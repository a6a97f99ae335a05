"""The hash of a whole file is known only where somebody read it whole."""

import hashlib
from types import SimpleNamespace

from ln_audit.core import FileUse
from ln_audit.lock import file_hashes
from ln_audit.sources import open_source
from ln_audit.sources.settings import Settings


def test_a_local_file_is_hashed_only_when_it_is_asked_for(tmp_path):
    data = bytes(range(256)) * 40_000  # more than one piece
    (tmp_path / "m.bin").write_bytes(data)
    source = open_source(str(tmp_path), Settings())
    assert file_hashes.known(source, ["m.bin"], full=False) == {}
    assert file_hashes.known(source, ["m.bin"], full=True) == {"m.bin": hashlib.sha256(data).hexdigest()}


def test_what_the_hub_published_and_was_checked_is_taken():
    used = (FileUse("a", 3, 3, "00"), FileUse("b", 3, 1), FileUse("config.json", 9, 9, "11"))
    hub = SimpleNamespace(kind="hub", used=used)
    assert file_hashes.known(hub, ["a", "b"], full=True) == {"a": "00"}


def test_files_that_are_named_are_read_to_their_end_where_they_are_there(tmp_path):
    (tmp_path / "m.bin").write_bytes(b"abc")
    source = open_source(str(tmp_path), Settings())
    assert file_hashes.whole(source, ["m.bin", "none"]) == {"m.bin": hashlib.sha256(b"abc").hexdigest()}
