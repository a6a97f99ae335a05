"""GGUF's keys and conventions as transformers' own reader has them, where it knows the architecture."""

import numpy as np
import pytest

from ln_audit.families.names_index import index, of_architecture
from ln_audit.families.recognise import load

pytestmark = pytest.mark.peers
integrations = pytest.importorskip("transformers.integrations.ggml")
reader = pytest.importorskip("transformers.modeling_gguf_pytorch_utils")
OTHERS = {"qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "umt5": "t5"}  # transformers' name → general.architecture
BOTH = {
    "t5",
    "nemotron",
}  # their converters write both epsilons; llama.cpp reads the one of the kind, transformers the other


@pytest.mark.parametrize("name", sorted(integrations.GGUF_CONFIG_MAPPING))
def test_the_keys_that_both_know_are_the_same(name):
    architecture = OTHERS.get(name, name)
    if architecture not in index()["gguf"]:
        pytest.skip(f"{architecture}: no family of ours")
    names = of_architecture("gguf", architecture)
    assert names is not None
    theirs = {ours: key for key, ours in integrations.GGUF_CONFIG_MAPPING[name].items() if isinstance(ours, str)}
    both = {**names.optional, **names.config}
    shared = sorted(key for key in set(both) & set(theirs) if architecture not in BOTH or "eps" not in key)
    assert [both[key] for key in shared] == [f"{architecture}.{theirs[key]}" for key in shared]
    assert len(shared) >= 2


@pytest.mark.parametrize("architecture", sorted(reader.TENSOR_PROCESSORS))
def test_the_gains_that_it_takes_one_off_are_those_that_we_read_as_whole(architecture):
    if architecture not in index()["gguf"]:
        pytest.skip(f"{architecture}: no family of ours")
    processed = reader.TENSOR_PROCESSORS[architecture](config={}).process(np.ones(4), "blk.0.attn_norm.weight")
    names, family = of_architecture("gguf", architecture), load(index()["gguf"][architecture])
    assert names is not None
    lacks_one = any(norm.weight_offset for norm in family.norms)
    assert (processed.weights[0] == 0, names.weight_offset == 0.0) == (lacks_one, lacks_one)
