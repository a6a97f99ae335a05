"""A part of a model says what it is and how it becomes a whole one."""

import json

import pytest

from ln_audit.errors import FormatError
from ln_audit.formats import find_artifacts
from tests.formats.memory_source import MemorySource

ADAPTER = json.dumps({"peft_type": "LORA", "base_model_name_or_path": "org/base"}).encode()


@pytest.mark.parametrize(
    ("names", "what", "hint"),
    [
        (
            ["__0_0.distcp", ".metadata"],
            "__0_0.distcp: expected a whole model, found a distributed checkpoint of PyTorch (DCP, FSDP)",
            "dcp_to_torch",
        ),
        (
            ["global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_to_fp32.py"],
            "global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt: expected a whole model, found ZeRO shards of DeepSpeed",
            "zero_to_fp32.py FOLDER OUTPUT",
        ),
        (
            ["mp_rank_00_model_states.pt"],
            "mp_rank_00_model_states.pt: expected a whole model, found tensor-parallel shards of Megatron or DeepSpeed",
            "merge",
        ),
        (
            ["mp_rank_01/model_optim_rng.pt"],
            "mp_rank_01/model_optim_rng.pt: expected a whole model, found tensor-parallel shards of Megatron or DeepSpeed",
            "merge",
        ),
    ],
)
def test_shards_of_distributed_training_must_be_merged_first(names, what, hint):
    with pytest.raises(FormatError) as caught:
        find_artifacts(MemorySource(dict.fromkeys(names, b"x")))
    assert caught.value.message == what
    assert hint in caught.value.hint


@pytest.mark.parametrize("weights", ["adapter_model.safetensors", "adapter_model.bin"])
def test_an_adapter_names_its_base(weights):
    with pytest.raises(FormatError) as caught:
        find_artifacts(MemorySource({"adapter_config.json": ADAPTER, weights: b"x"}))
    assert caught.value.message == "adapter_config.json: expected a whole model, found a 'LORA' adapter of 'org/base'"
    assert "merge_and_unload" in caught.value.hint


def test_what_training_leaves_beside_an_adapter_makes_no_model_of_it():
    beside = ["training_args.bin", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json", "README.md"]
    files = {"adapter_config.json": ADAPTER, "adapter_model.safetensors": b"x", **dict.fromkeys(beside, b"x")}
    with pytest.raises(FormatError, match="expected a whole model, found a 'LORA' adapter of 'org/base'"):
        find_artifacts(MemorySource(files))


def test_an_adapter_beside_a_whole_model_is_left_alone():
    files = {"adapter_config.json": ADAPTER, "adapter_model.safetensors": b"x", "model.safetensors": b"x"}
    assert find_artifacts(MemorySource(files))[0].file == "model.safetensors"
