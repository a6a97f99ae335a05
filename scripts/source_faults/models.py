"""Tiny models of the families, made from the families' own tables: random norms, and matrices enough to be recognised by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.core import Checkpoint, TensorInfo
from ln_audit.demand import Demand
from ln_audit.families.contract import contract
from ln_audit.families.reading import readings
from ln_audit.families.recognise import load
from ln_audit.formats.config import Config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Norm

    Array = np.ndarray[Any, Any]

LAYERS, WIDTH, HEAD, INNER, WORDS, EPSILON = 3, 16, 8, 24, 32, 3e-5


@dataclass(frozen=True)
class Spec:
    """What a family's tiny model is made of: its config, its matrices, and widths that no config key tells."""

    family: str
    title: str
    config: Mapping[str, Any]
    matrices: Mapping[str, tuple[int, ...]]
    widths: Mapping[str, int]  # the end of a norm's name → its width
    prefix: str = "model."


@dataclass(frozen=True)
class Model:
    """A model as the Hub has it, in float32. `norms` are those of its contract; all other tensors are matrices."""

    spec: Spec
    config: Mapping[str, Any]
    norms: tuple[Norm, ...]
    tensors: Mapping[str, Array]


def _sizes(**more: Any) -> dict[str, Any]:
    common = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "num_key_value_heads": 2}
    return common | {"head_dim": HEAD, "intermediate_size": INNER, "vocab_size": WORDS} | more


def _matrices(*projections: str, head: bool = False, layers: tuple[int, ...] = tuple(range(LAYERS))) -> dict[str, Any]:
    shapes: dict[str, Any] = {"model.embed_tokens.weight": (WORDS, WIDTH)}
    for layer in layers:
        for name in projections:
            narrow, down = INNER if "mlp" in name else WIDTH, "down" in name
            inward, outward = (narrow, WIDTH) if down else (WIDTH, narrow)
            shapes[f"model.layers.{layer}.{name}.weight"] = (outward, inward)
    return shapes | ({"lm_head.weight": (WORDS, WIDTH)} if head else {})


_ATTENTION = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
_GATED = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


def _gpt2() -> Spec:
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": LAYERS, "n_embd": WIDTH, "n_head": 2,
        "n_positions": 8, "vocab_size": WORDS, "layer_norm_epsilon": EPSILON,
    }  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (WORDS, WIDTH),
        "transformer.wpe.weight": (8, WIDTH),
    }
    block = {"attn.c_attn": 3 * WIDTH, "attn.c_proj": WIDTH, "mlp.c_fc": INNER, "mlp.c_proj": WIDTH}
    for layer in range(LAYERS):
        for name, out in block.items():
            at = f"transformer.h.{layer}.{name}"
            shapes |= {f"{at}.weight": (INNER if name == "mlp.c_proj" else WIDTH, out), f"{at}.bias": (out,)}
    return Spec("gpt2", "GPT-2", config, shapes, {}, "transformer.")


def _of(
    family: str, title: str, architecture: str, epsilon: str | None, matrices: Mapping[str, Any], **more: Any
) -> Spec:
    facts = _sizes(model_type=family, architectures=[architecture]) | ({} if epsilon is None else {epsilon: EPSILON})
    widths = {"q_norm": HEAD, "k_norm": HEAD} if family == "gemma4_text" else {}
    return Spec(family, title, facts | more, matrices, widths)


def _qwen3_next() -> Spec:
    linear = ("linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba", "linear_attn.out_proj")
    shared = ("mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj")
    shapes = _matrices(*linear, *shared, layers=(0, 1)) | _matrices(*_ATTENTION, *shared, head=True, layers=(2,))
    more = {
        "linear_value_head_dim": 8,
        "linear_num_value_heads": 2,
        "layer_types": ["linear_attention", "linear_attention", "full_attention"],
    }
    return _of("qwen3_next", "Qwen3-Next", "Qwen3NextForCausalLM", "rms_norm_eps", shapes, **more)


SPECS: Mapping[str, Spec] = {
    spec.family: spec
    for spec in (
        _gpt2(),
        _of("llama", "Llama", "LlamaForCausalLM", "rms_norm_eps", _matrices(*_ATTENTION, *_GATED, head=True)),
        _of("gemma2", "Gemma 2", "Gemma2ForCausalLM", "rms_norm_eps", _matrices(*_ATTENTION, *_GATED)),
        _of(
            "gemma4_text",
            "Gemma 4",
            "Gemma4ForCausalLM",
            "rms_norm_eps",
            _matrices(*_ATTENTION, *_GATED) | {f"model.layers.{layer}.layer_scalar": (1,) for layer in range(LAYERS)},
            hidden_size_per_layer_input=HEAD,
            num_kv_shared_layers=0,
        ),
        _qwen3_next(),
        _of(
            "nemotron",
            "Nemotron",
            "NemotronForCausalLM",
            "norm_eps",
            _matrices(*_ATTENTION, "mlp.up_proj", "mlp.down_proj", head=True),
        ),
        _of("cohere", "Cohere", "CohereForCausalLM", "layer_norm_eps", _matrices(*_ATTENTION, *_GATED)),
        _of("olmo", "OLMo-1", "OlmoForCausalLM", None, _matrices(*_ATTENTION, *_GATED, head=True)),
    )
}


def build(spec: Spec, seed: int = 1) -> Model:
    """A model with random values; the same ones for the same seed."""
    rng = np.random.default_rng([seed, sum(map(ord, spec.family))])
    infos = {name: TensorInfo(name, "F32", shape, 0) for name, shape in spec.matrices.items()}
    bare = Checkpoint("safetensors", ("model.safetensors",), infos, lambda _: {})
    parts = readings(load(spec.family), Config(dict(spec.config), "config.json"), bare)
    norms = tuple(_with_width(norm, spec) for norm in contract(parts, bare, Demand()))
    tensors = {name: rng.normal(0, 0.05, shape).astype(np.float32) for name, shape in spec.matrices.items()}
    for norm in norms:
        if norm.gain is not None:  # trained gains spread over some binary magnitudes, all positive
            gain = np.exp(rng.normal(0.1, 0.25, norm.width))
            tensors[norm.gain] = (gain - norm.weight_offset).astype(np.float32)
        if norm.bias is not None:
            tensors[norm.bias] = rng.normal(0, 0.2, norm.width).astype(np.float32)
    return Model(spec, spec.config, norms, tensors)


def _with_width(norm: Norm, spec: Spec) -> Norm:
    told = next((width for end, width in spec.widths.items() if norm.promised.endswith(end)), None)
    return norm if norm.width is not None or told is None else replace(norm, width=told)
