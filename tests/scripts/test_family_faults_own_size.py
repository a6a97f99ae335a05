"""A model at its own size is a file of names and shapes: read like any other, and without its bytes."""

import json
from pathlib import Path

from safetensors import safe_open

from ln_audit.audit import audit
from ln_audit.demand import Demand
from scripts.family_faults.own_size import _judged, write_hole

SHAPES = {
    "transformer.wte.weight": (50_000, 1600),
    "transformer.ln_f.weight": (1600,),
    "transformer.ln_f.bias": (1600,),
}
BLOCK = {f"transformer.h.0.{norm}.{leaf}": (1600,) for norm in ("ln_1", "ln_2") for leaf in ("weight", "bias")}


def folder(path: Path, shapes: dict[str, tuple[int, ...]]) -> Path:
    write_hole(path / "model.safetensors", shapes)
    (path / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "n_embd": 1600, "n_layer": 1, "layer_norm_epsilon": 1e-5})
    )
    return path


def test_the_file_has_every_name_and_shape_and_next_to_nothing_on_the_disk(tmp_path):
    file = folder(tmp_path, SHAPES | BLOCK) / "model.safetensors"
    with safe_open(file, "numpy") as read:
        assert {name: tuple(read.get_slice(name).get_shape()) for name in read.keys()} == SHAPES | BLOCK  # noqa: SIM118
    assert file.stat().st_size > 320_000_000
    assert file.stat().st_blocks * 512 < 1_000_000


def test_names_and_shapes_that_are_right_pass_though_all_values_are_zero(tmp_path):
    found = _judged(audit(str(folder(tmp_path, SHAPES | BLOCK)), Demand(values="final")), tmp_path)
    assert (found.word, found.message) == ("passes", "")


def test_a_shape_that_is_wrong_is_a_false_alarm(tmp_path):
    wrong = SHAPES | BLOCK | {"transformer.h.0.ln_1.weight": (800,)}
    found = _judged(audit(str(folder(tmp_path, wrong)), Demand(values="final")), tmp_path)
    assert found.word == "false alarm"
    assert found.message.startswith(
        "fail; LN002 fail transformer.h.0.ln_1: model.safetensors: transformer.h.0.ln_1.weight: expected shape"
    )
