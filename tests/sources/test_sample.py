"""The packaged model."""

from __future__ import annotations

import pytest

from ln_audit.errors import UsageError
from ln_audit.sources import sample
from ln_audit.sources.settings import Settings


def test_the_sample_is_the_packaged_folder_and_needs_no_network():
    source = sample.open_source("sample", Settings(offline=True))
    assert (source.spec, source.kind, source.identity, source.entry) == ("sample", "sample", "sample", None)
    assert source.files() == ["config.json", "model.safetensors", "recording.safetensors"]
    assert source.requests == 0


def test_only_the_word_itself_means_it():
    assert sample.accepts("sample")
    assert not sample.accepts("./sample")


def test_the_sample_has_no_revision():
    with pytest.raises(UsageError, match=r"^sample: expected a model on the Hub with --revision"):
        sample.open_source("sample", Settings(revision="main"))
