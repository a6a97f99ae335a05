"""The stand-in for a checkpoint of several gigabytes: both containers hold the same tensors, and almost no disk."""

from math import prod
from pathlib import Path

import pytest
from safetensors import safe_open

from ln_audit.formats.torch_pickle import read_checkpoint
from ln_audit.sources.local import open_source
from ln_audit.sources.settings import Settings
from scripts import sparse_torch


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout")
    sparse_torch.write(folder)
    return folder


def test_it_holds_the_parameters_of_gpt2_xl():
    shapes = sparse_torch.shapes(48, 1600)
    assert (len(shapes), sum(prod(shape) for shape in shapes.values())) == (580, 1_557_611_200)


def test_it_is_large_and_takes_little_disk(layout: Path):
    for file in ("bin/pytorch_model.bin", "safetensors/model.safetensors"):
        status = (layout / file).stat()
        assert status.st_size > 6_230_000_000
        assert status.st_blocks * 512 < 4_000_000


def test_its_norms_are_read_from_beyond_4_gigabytes_without_the_rest(layout: Path):
    source = open_source(str(layout / "bin"), Settings())
    checkpoint = read_checkpoint(source, "pytorch_model.bin")
    names = ["ln_f.weight", "ln_f.bias", "h.47.ln_2.weight"]
    stored = checkpoint.read(names)
    with safe_open(layout / "safetensors" / "model.safetensors", "numpy") as file:
        assert {name: value.data for name, value in stored.items()} == {n: file.get_tensor(n).tobytes() for n in names}
        assert list(checkpoint.tensors) == sorted(file.keys(), key=list(checkpoint.tensors).index)
    assert sum(used.bytes_read for used in source.used) < 300_000
