"""How bytes are fetched unless the caller says otherwise."""

from __future__ import annotations

from ln_audit.sources.settings import Settings


def test_by_default_the_network_is_used_and_nothing_is_downloaded_whole():
    assert Settings() == Settings(revision=None, offline=False, full=False, progress=False)
