"""The stand-in for GPT-2 small's file: its names, its shapes, its size, and almost no disk."""

import json
from math import prod
from pathlib import Path

import pytest
from safetensors import safe_open

from scripts import sparse_layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout")
    sparse_layout.write(folder)
    return folder


def test_it_holds_the_148_parameters_and_12_masks_of_gpt2_small():
    shapes = sparse_layout.shapes()
    masks = [shape for name, shape in shapes.items() if name.endswith(".attn.bias")]
    assert (len(shapes), masks) == (160, [(1, 1, 1024, 1024)] * 12)
    assert sum(prod(shape) for shape in shapes.values()) - sum(map(prod, masks)) == 124_439_808


def test_the_reference_reader_takes_it_and_every_norm_holds_numbers(layout: Path):
    with safe_open(layout / "model.safetensors", "numpy") as file:
        names = [name for name in sparse_layout.shapes() if ".ln_" in f".{name}"]
        spreads = [file.get_tensor(name).std() for name in names]
    assert len(names) == 50
    assert min(spreads) > 0.05


def test_it_is_large_and_takes_little_disk(layout: Path):
    status = (layout / "model.safetensors").stat()
    assert status.st_size > 548_000_000
    assert status.st_blocks * 512 < 2_000_000


def test_its_config_is_one_of_gpt2(layout: Path):
    config = json.loads((layout / "config.json").read_text())
    assert {key: config[key] for key in ("model_type", "n_embd", "n_layer", "layer_norm_epsilon")} == {
        "model_type": "gpt2",
        "n_embd": 768,
        "n_layer": 12,
        "layer_norm_epsilon": 1e-05,
    }
