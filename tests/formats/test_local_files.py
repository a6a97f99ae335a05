"""Formats over real files: the seam to `sources.local` holds."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.errors import LnAuditError, SourceError
from ln_audit.formats import Artifact, find_artifacts, read_checkpoint
from ln_audit.formats.config import read_config
from ln_audit.formats.dtypes import decode
from ln_audit.sources.local import open_source
from ln_audit.sources.settings import Settings


def test_a_folder_is_read_by_range(tmp_path):
    tensors = {"big": np.zeros(1_000_000, np.float32), "w": np.array([1.5, -2], np.float32)}
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    source = open_source(str(tmp_path), Settings())
    (artifact,) = find_artifacts(source)
    checkpoint = read_checkpoint(source, artifact)
    assert decode(checkpoint.read(["w"])["w"]).tolist() == [1.5, -2]
    config = read_config(source)
    assert config is not None
    assert config.get("model_type") == "gpt2"
    (used,) = (use for use in source.used if use.name == "model.safetensors")
    assert used.size == (tmp_path / "model.safetensors").stat().st_size
    assert used.bytes_read < 20_000


@pytest.mark.parametrize("entry", ["weights.safetensors", "weights"])
def test_a_file_named_directly_is_read(tmp_path, entry):
    save_file({"w": np.ones(2, np.float32)}, tmp_path / entry)
    source = open_source(str(tmp_path / entry), Settings())
    assert find_artifacts(source) == (Artifact("safetensors", entry),)
    assert list(read_checkpoint(source, Artifact("safetensors", entry)).tensors) == ["w"]


def test_a_dangling_link_is_not_called_an_empty_folder(tmp_path):
    (tmp_path / "model.safetensors").symlink_to("../../blobs/5934c2a2")
    source = open_source(str(tmp_path), Settings())
    with pytest.raises(SourceError, match="link"):
        read_checkpoint(source, find_artifacts(source)[0])


def test_an_empty_folder_has_nothing_to_read(tmp_path):
    source = open_source(str(tmp_path), Settings())
    with pytest.raises(LnAuditError, match=r"expected model\.safetensors, pytorch_model\.bin, .*, found no file"):
        find_artifacts(source)
