"""Files in memory are read like any others."""

import pytest

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources.in_memory import InMemorySource

SOURCE = InMemorySource("the model in memory", {"config.json": b'{"a": 1}'})


def test_it_reads_what_it_holds():
    assert (SOURCE.identity, SOURCE.kind, SOURCE.entry, SOURCE.used) == ("the model in memory", "local", None, ())
    assert (SOURCE.exists("config.json"), SOURCE.exists("params.json"), SOURCE.files()) == (
        True,
        False,
        ["config.json"],
    )
    assert (SOURCE.size("config.json"), SOURCE.read_prefix("config.json", 3)) == (8, b'{"a')
    assert SOURCE.read("config.json", [Range(2, 3), Range(0, 8)]) == [b"a", b'{"a": 1}']


def test_what_it_does_not_hold_is_an_error():
    with pytest.raises(SourceError, match="the model in memory: expected params.json, found no such file"):
        SOURCE.read_prefix("params.json", 1)
    with pytest.raises(SourceError, match="config.json: expected ranges within 8 bytes, found one beyond"):
        SOURCE.read("config.json", [Range(0, 9)])
