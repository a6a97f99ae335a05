"""Train the model that ships as `sample` and record its final norm from a real forward pass.

    python scripts/train_sample.py [DEST]        # default: ln_audit/assets/sample; about a minute on one core

A byte-level GPT-2 of about 100,000 parameters learns scripts/sample_text.txt. transformers saves it, and forward
hooks on `transformer.ln_f` record what went into the final norm and what came out, with all hidden states. Needs
torch and transformers (`pip install -e .[peers]`).

Same machine, same versions of torch and transformers: the same bytes. Not guaranteed: the same bytes on another
processor or with another version, because the order of sums in matrix products differs; training amplifies that, so
every weight may differ. The files in the package are therefore kept, not rebuilt, and their tests hold them to each
other, never to a rerun.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from recording_file import value_sha256, write_recording
from transformers import GPT2Config, GPT2LMHeadModel

_HERE = Path(__file__).resolve().parent
_SEED = 20
_STEPS = 1500
_BATCH = 24
_WARM_UP = 100
_PEAK_RATE = 3e-3
_NORM = "transformer.ln_f"


def train(text: bytes) -> GPT2LMHeadModel:
    """A GPT-2 over bytes, trained to predict the next byte of `text`."""
    torch.manual_seed(_SEED)
    torch.set_num_threads(1)  # one order of sums
    torch.use_deterministic_algorithms(True)
    shape = {"vocab_size": 256, "n_positions": 64, "n_embd": 48, "n_layer": 3, "n_head": 4}
    config = GPT2Config(**shape, bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config)
    data = torch.tensor(list(text))
    optimizer = torch.optim.AdamW(model.parameters(), lr=_PEAK_RATE, weight_decay=0.01)
    warm_up = _WARM_UP / _STEPS
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _PEAK_RATE, total_steps=_STEPS, pct_start=warm_up)
    for step in range(_STEPS):
        starts = torch.randint(len(data) - config.n_positions, (_BATCH,)).tolist()
        batch = torch.stack([data[start : start + config.n_positions] for start in starts])  # [batch, positions]
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 250 == 0 or step == _STEPS - 1:
            print(f"step {step}: loss {loss.item():.3f}", file=sys.stderr)
    return model.eval()


def record(model: GPT2LMHeadModel, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
    """What the final norm was given and what it gave, and every hidden state: each [1, positions, width]."""
    seen: dict[str, torch.Tensor] = {"tokens": tokens}

    def hook(_module: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        seen["before"], seen["after"] = inputs[0].detach().clone(), output.detach().clone()

    handle = model.get_submodule(_NORM).register_forward_hook(hook)
    with torch.no_grad():
        states = model(tokens, output_hidden_states=True).hidden_states
    handle.remove()
    return seen | {f"hidden_states.{number}": state for number, state in enumerate(states)}


def save(model: GPT2LMHeadModel, dest: Path) -> None:
    """config.json and model.safetensors as transformers writes them, and nothing else."""
    model.save_pretrained(dest)
    (dest / "generation_config.json").unlink(missing_ok=True)  # says how to sample; the tool never reads it
    config = json.loads((dest / "config.json").read_text())
    config.pop("_name_or_path", None)  # may hold a path of the machine that trained it
    (dest / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    (dest / "model.safetensors").chmod(0o644)  # the writer leaves it readable for its owner only


def main(dest: Path) -> None:
    """Train, save, record, and say what came out."""
    text = (_HERE / "sample_text.txt").read_bytes()
    model = train(text)
    save(model, dest)
    prompt = text[: model.config.n_positions]
    tensors = {name: tensor.numpy() for name, tensor in record(model, torch.tensor([list(prompt)])).items()}
    final = model.get_submodule(_NORM)
    metadata = {
        "ln_audit.recording": "1",
        "model": "sample",
        "norm": _NORM,
        "kind": "layer_norm",
        "eps": repr(final.eps),
        "framework": f"torch {version('torch')}, transformers {version('transformers')}",
        "output_dtype": "float32",
        "param_dtype": "float32",
        "compute_dtype": "float32",
        "gain_value_sha256": value_sha256(final.weight.detach().numpy()),
        "bias_value_sha256": value_sha256(final.bias.detach().numpy()),
        "made_with": "scripts/train_sample.py",
        "text": prompt.decode(),
        "note": f"forward hooks on {_NORM}, CPU; tokens are bytes",
    }
    size = write_recording(dest / "recording.safetensors", tensors, metadata)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{dest}: {parameters:,} parameters, recording {size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _HERE.parent / "ln_audit" / "assets" / "sample")
