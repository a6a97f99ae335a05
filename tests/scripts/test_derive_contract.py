"""The tables in the package against the models themselves: what a tiny checkpoint holds is what its table promises."""

import json
from math import prod

import pytest

pytest.importorskip("transformers")
from ln_audit.core import Checkpoint, TensorInfo
from ln_audit.demand import Demand
from ln_audit.families import recognise
from ln_audit.families.contract import contract
from ln_audit.families.reading import readings
from ln_audit.formats.config import Config
from scripts.derive import survey, tiny

pytestmark = pytest.mark.peers

# The families that are asked for most; all others are walked by `python -m scripts.family_faults`.
USUAL = [
    "llama", "mistral", "gpt2", "nemotron", "opt", "mbart", "llava", "gemma", "gemma2", "gemma3", "gemma4_text", "qwen2",
    "qwen3", "qwen3_next", "nemotron_h", "mamba", "mamba2", "jamba", "bert", "t5", "whisper", "deepseek_v3", "olmo", "olmo2",
    "bloom", "gpt_neox", "phi", "falcon", "stablelm", "cohere", "mixtral", "roberta", "distilbert", "deberta", "vit", "clip",
    "siglip", "bart", "pegasus", "marian", "zamba", "bamba", "falcon_h1", "qwen2_vl", "paligemma",
]  # fmt: skip


def held(model_type):
    model = tiny.build(model_type)
    walked = survey.survey(model, survey.Kinds(), meta=False)
    config = Config(json.loads(model.config.to_json_string(use_diff=False)), "config.json")
    tensors = {name: TensorInfo(name, "F32", shape, 0) for name, shape in walked.tensors.items()}
    checkpoint = Checkpoint("safetensors", ("model.safetensors",), tensors, lambda names: {})
    found = recognise.identify(checkpoint, config)
    assert found is not None
    norms = contract(readings(found[0], config, checkpoint), checkpoint, Demand())
    return walked, norms, tensors


@pytest.mark.parametrize("model_type", USUAL)
def test_a_checkpoint_holds_what_its_table_promises_and_no_other_norm(model_type):
    walked, norms, tensors = held(model_type)
    assert [name for norm in norms for name in norm.tensors if name not in tensors and not norm.bias_optional] == []
    assert [norm.name for norm in norms if norm.misnamed] == []
    assert {name: prod(tensors[name].shape) for norm in norms if norm.width is not None for name in norm.tensors} == {
        name: norm.width for norm in norms if norm.width is not None for name in norm.tensors
    }
    promised = {name for norm in norms for name in norm.tensors}
    assert [
        f"{site.stem}.{site.gain}"
        for site in walked.sites.values()
        if site.gain and f"{site.stem}.{site.gain}" not in promised
    ] == []


@pytest.mark.parametrize("model_type", USUAL)
def test_kind_offset_chain_and_epsilon_are_those_that_were_measured(model_type):
    walked, norms, _ = held(model_type)
    by_gain = {norm.gain: norm for norm in norms if norm.gain is not None}
    for site in walked.sites.values():
        norm = by_gain.get(f"{site.stem}.{site.gain}") if site.gain else None
        if norm is not None:
            measured = site.measured
            assert (norm.kind, norm.weight_offset, norm.chain) == (measured.kind, measured.offset, measured.chain), (
                site.stem
            )
            assert norm.eps == pytest.approx(measured.eps, rel=1e-3), site.stem
