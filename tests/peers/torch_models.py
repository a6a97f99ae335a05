"""Tiny models as transformers builds and saves them, with norms that are not at their initial values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SIZES: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 32, "vocab_size": 50,
}  # fmt: skip
FINAL = {"gpt2": "transformer.ln_f", "llama": "model.norm", "nemotron": "model.norm"}


def tiny(family: str) -> Any:
    """A causal model of random weights, the same each time."""
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(7)
    if family == "gpt2":
        small = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=50, n_positions=40)
        model = transformers.GPT2LMHeadModel(small)
    elif family == "llama":
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))
    else:
        model = transformers.NemotronForCausalLM(transformers.NemotronConfig(**SIZES))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
        for name, parameter in model.named_parameters():
            if family == "nemotron" and name.endswith("norm.weight"):
                parameter.sub_(1)  # what is trained lies around 1, and this family stores the gain less 1
    return model.eval()


def saved(family: str, folder: Path) -> str:
    """Its folder."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    tiny(family).save_pretrained(folder)
    return str(folder)


def read(path: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors and metadata of a recording, as torch sees them."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
