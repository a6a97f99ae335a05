"""Files that the gguf package itself writes, one of each architecture that we know: all norms are found, and they pass."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from ln_audit.audit import audit
from ln_audit.core import Declared
from ln_audit.demand import Demand
from ln_audit.families.names_table import index, of_architecture
from ln_audit.families.recognise import load
from tests.families.model import checkpoint, promised

LAYERS, WIDTH, EPSILON = 2, 32, 1e-5
# What a file states of sizes; a width of heads that is not width over heads, so that taking one for the other is noticed.
STATED = {
    "embedding_length": WIDTH, "block_count": LAYERS, "decoder_block_count": LAYERS, "attention.head_count": 4,
    "attention.head_count_kv": 2, "attention.key_length": 16, "feed_forward_length": 48, "ssm.inner_size": 64,
    "ssm.state_size": 6, "ssm.time_step_rank": 3, "attention.q_lora_rank": 12, "attention.kv_lora_rank": 20,
    "embedding_length_per_layer_input": 24, "nextn_predict_layers": 0, "vocab_size": 64,
}  # fmt: skip


def _facts(architecture: str) -> dict[str, Any]:
    names = of_architecture("gguf", architecture)
    assert names is not None
    facts: dict[str, Any] = {}
    for key in {*names.config.values(), *names.optional.values(), *([names.epsilon] if names.epsilon else [])}:
        facts[key] = EPSILON if key.endswith("epsilon") else STATED[key.removeprefix(f"{architecture}.")]
    return facts


def _norms(architecture: str, facts: Mapping[str, Any]) -> list[Any]:
    """The norms of the family in a file that holds a tensor of every name that the gguf package has for the architecture."""
    arch = {name: each for each, name in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    shapes = {
        f"{gguf.TENSOR_NAMES[tensor].format(bid=layer)}.weight": (WIDTH, WIDTH)
        for tensor in gguf.MODEL_TENSORS[arch] if "norm" not in tensor.name.lower() for layer in range(LAYERS)
    }  # fmt: skip
    made = checkpoint(shapes)
    declared = tuple(
        Declared(key, value, "m") for key, value in {"general.architecture": architecture, **facts}.items()
    )
    made = type(made)("gguf", ("m",), made.tensors, made.read, declared)
    without = of_architecture("gguf", architecture).without  # type: ignore[union-attr]
    norms = promised(load(index()["gguf"][architecture]), None, made)
    return [norm for norm in norms if norm.pattern not in without and norm.tensors]


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


@pytest.mark.parametrize("architecture", sorted(index()["gguf"]))
def test_a_written_file_has_all_norms_under_the_packages_own_names(tmp_path, architecture):
    family, facts = load(index()["gguf"][architecture]), _facts(architecture)
    known = gguf.get_tensor_name_map({n: a for a, n in gguf.MODEL_ARCH_NAMES.items()}[architecture], LAYERS)
    norms = _norms(architecture, facts)
    tensors: dict[str, tuple[int, ...]] = {"token_embd.weight": (64, WIDTH)}
    for norm in norms:
        assert norm.width is not None, norm.width_source
        spelt = [
            known.get_name(f"{prefix}{norm.promised}", ()) for prefix in (*family.prefixes, "model.", "transformer.")
        ]
        theirs = next(filter(None, spelt), None)
        assert theirs in (None, norm.name)  # None: a name that transformers has changed, see the hand-written map
        tensors |= dict.fromkeys(norm.tensors, (norm.width,))
    path = tmp_path / "model.gguf"
    _write(path, architecture, facts, tensors)
    (report,) = audit(str(path), Demand())
    assert report.family is not None
    assert report.family.name == family.name
    assert [f.message for f in report.findings if f.status == "fail"] == []
    found = [each.norm for each in report.norms]
    assert {norm.name for norm in found} >= {norm.name for norm in norms}
    assert {norm.weight_offset for norm in found} <= {0.0}
    assert all(norm.width == WIDTH for norm in found if norm.role == "final" and norm.main)


def test_heads_of_each_layer_are_one_number_where_all_layers_that_have_any_agree(tmp_path):
    """LFM2 and its like state 0 heads for their convolutions."""
    from ln_audit.families import containers

    made = checkpoint({})
    for value, found in (((4, 0, 4), 4), ((4, 2), (4, 2)), ((0, 0), (0, 0)), (3, 3)):
        facts = (Declared("general.architecture", "llama", "m"), Declared("llama.block_count", value, "m"))
        told = containers.config(type(made)("gguf", ("m",), made.tensors, made.read, facts), "llama")
        assert told is not None
        assert told.get("num_hidden_layers") == found
