"""Names in memory and in the checkpoint: transformers renames some modules when it loads, and back when it saves."""

from typing import Any

import pytest

from ln_audit.record import names

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")


def renamed() -> Any:
    from transformers.core_model_loading import WeightRenaming

    config = transformers.LlamaConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        vocab_size=50,
    )
    model = transformers.LlamaForCausalLM(config)
    model._weight_conversions = [WeightRenaming(r"transformer\.last_norm", "model.norm")]
    return model


def test_what_was_renamed_on_loading_keeps_the_name_of_the_checkpoint(tmp_path):
    from safetensors import safe_open

    model = renamed()
    model.save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        saved = set(file.keys())
    assert set(names.tensors(model)) == saved | {"model.rotary_emb.inv_freq", "model.rotary_emb.original_inv_freq"}
    assert names.modules(model)["transformer.last_norm"] is model.model.norm
    assert "model.norm" not in names.modules(model)


def test_other_modules_are_called_what_they_are():
    model = torch.nn.Sequential(torch.nn.LayerNorm(2))
    assert list(names.modules(model)) == ["0"]
    assert list(names.tensors(model)) == ["0.weight", "0.bias"]


def test_wrappers_come_off():
    model = torch.nn.LayerNorm(2)
    assert names.unwrapped(torch.nn.DataParallel(model)) is model
    assert names.unwrapped(torch.compile(model, backend="eager")) is model
    assert names.unwrapped(model) is model
