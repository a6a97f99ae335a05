"""Files that the gguf package itself writes, one of each architecture that we know: all norms are found, and they pass."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from ln_audit.audit import audit
from ln_audit.core import Declared
from ln_audit.demand import Demand
from ln_audit.families.names_index import DATA, _of_file, index
from ln_audit.families.recognise import load
from tests.families.model import checkpoint, promised

LAYERS, WIDTH, EPSILON = 2, 32, 1e-5
# What a file states of sizes; a width of heads that is not width over heads, so that taking one for the other is noticed.
STATED = {
    "embedding_length": WIDTH, "block_count": LAYERS, "decoder_block_count": LAYERS, "attention.head_count": 4,
    "attention.head_count_kv": 2, "attention.key_length": 16, "feed_forward_length": 48, "ssm.inner_size": 64, "attention.indexer.key_length": 18,
    "ssm.state_size": 6, "ssm.time_step_rank": 4, "attention.q_lora_rank": 12, "attention.kv_lora_rank": 20,
    "embedding_length_per_layer_input": 24, "nextn_predict_layers": 1, "vocab_size": 64,
}  # fmt: skip


FILES = sorted(path.stem for path in (DATA / "gguf").glob("*.toml"))
KNOWN = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}


def _facts(file: str, architecture: str) -> dict[str, Any]:
    names = _of_file("gguf", file)
    facts: dict[str, Any] = {}
    keys = {
        *names.config.values(),
        *names.optional.values(),
        *(key for pair in names.quotients.values() for key in pair),
    }
    for key in {*keys, *([names.epsilon] if names.epsilon else [])}:
        facts[key] = EPSILON if key.endswith("epsilon") else STATED[key.removeprefix(f"{architecture}.")]
    return facts


def _tensors(file: str, architecture: str, facts: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """All that the gguf package has for the architecture, and norms as the family wants them; no norm of another variant."""
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in gguf.MODEL_TENSORS[KNOWN[architecture]]:
        for layer in range(LAYERS):
            is_norm = "norm" in tensor.name.lower()
            shapes[f"{gguf.TENSOR_NAMES[tensor].format(bid=layer)}.weight"] = (WIDTH,) if is_norm else (WIDTH, WIDTH)
    there = [tensor for tensor, name in index()["variants"]["gguf"].get(architecture, []) if name != file]
    if there and file == architecture:
        shapes = {name: shape for name, shape in shapes.items() if name.replace("blk.1", "blk.0") not in there}
    made = checkpoint(shapes)
    declared = tuple(
        Declared(key, value, "m") for key, value in {"general.architecture": architecture, **facts}.items()
    )
    made = type(made)("gguf", ("m",), made.tensors, made.read, declared)
    for norm in promised(load(index()["gguf"][architecture]), None, made):
        shapes |= dict.fromkeys(
            norm.tensors if norm.bias_optional is False else norm.tensors[:1], (norm.width or WIDTH,)
        )
    return shapes


def _write(path: Path, architecture: str, facts: Mapping[str, Any], tensors: Mapping[str, tuple[int, ...]]) -> None:
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in facts.items():
        (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(key, value)
    rng = np.random.default_rng(7)
    for name, shape in tensors.items():
        writer.add_tensor(name, (1 + rng.normal(size=shape) / 8).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("file", FILES)
def test_a_written_file_has_all_norms_under_the_packages_own_names(tmp_path, file):
    architecture = tomllib.loads((DATA / "gguf" / f"{file}.toml").read_text(encoding="utf-8"))["architecture"]
    family, facts = load(index()["gguf"][architecture]), _facts(file, architecture)
    tensors = _tensors(file, architecture, facts)
    path = tmp_path / "model.gguf"
    _write(path, architecture, facts, tensors)
    (report,) = audit(str(path), Demand())
    assert report.family is not None
    assert report.family.name == family.name
    assert [f.message for f in report.findings if f.status == "fail"] == []
    found = {each.norm.pattern: each.norm for each in report.norms}
    known, without = gguf.get_tensor_name_map(KNOWN[architecture], LAYERS), _of_file("gguf", file).without
    for norm in family.norms:
        spelt = [
            known.get_name(f"{front}{norm.name}".replace("{layer}", "0")) for front in (*family.prefixes, "model.")
        ]
        theirs = next(filter(None, spelt), None)
        if (
            theirs is not None
            and norm.gain == "required"
            and norm.name not in without
            and f"{theirs}.weight" in tensors
        ):
            assert norm.name in found
    assert {norm.weight_offset for norm in found.values()} <= {0.0}
    assert all(norm.width == WIDTH for norm in found.values() if norm.role == "final" and norm.main and norm.gain)
    assert all(
        norm.eps == np.float32(EPSILON) for norm in found.values() if norm.role == "final" and family.epsilon.keys
    )


def test_heads_of_each_layer_are_one_number_where_all_layers_that_have_any_agree(tmp_path):
    """LFM2 and its like state 0 heads for their convolutions."""
    from ln_audit.families import containers

    made = checkpoint({})
    for value, found in (((4, 0, 4), 4), ((4, 2), (4, 2)), ((0, 0), (0, 0)), (3, 3)):
        facts = (Declared("general.architecture", "llama", "m"), Declared("llama.block_count", value, "m"))
        told = containers.config(type(made)("gguf", ("m",), made.tensors, made.read, facts), "llama")
        assert told is not None
        assert told.get("num_hidden_layers") == found
