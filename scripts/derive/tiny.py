"""Tiny models of every type that transformers knows: the class's own config, shrunk by rules over its keys.

`data/tiny.toml` holds what the rules do not reach. Relations of the defaults are kept where a model needs them: a head
width that is hidden over heads stays so, per-layer lists keep one layer of every kind they have.
"""

from __future__ import annotations

import copy
import os
import warnings
from functools import cache
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import PretrainedConfig
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from . import norms, stand_ins
from .shrink import Shrink

stand_ins.install()
# The class that is built for a type: the first of these that has it.
MAPPINGS = (
    "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING",
    "MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING",
    "MODEL_MAPPING",
)
_LEVELS = 4
_MOST_PARAMETERS = 420_000_000
_NAMES = tuple(f"{mapping}_NAMES" for mapping in MAPPINGS)


def model_types() -> list[str]:
    """Every type of the mappings, causal language models first."""
    return list(dict.fromkeys(name for mapping in _NAMES for name in getattr(auto, mapping)))


def base_types() -> list[str]:
    """The types that `AutoModel` builds."""
    return list(auto.MODEL_MAPPING_NAMES)


def causal_types() -> list[str]:
    """The types that `AutoModelForCausalLM` builds."""
    return list(auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def tiny_config(model_type: str) -> PretrainedConfig:
    """The type's own config, shrunk as far as its model can still be built. Raises what the last attempt raises."""
    return CONFIG_MAPPING[model_type](**tiny_kwargs(model_type))


def tiny_kwargs(model_type: str) -> dict[str, Any]:
    """What the config class is called with to give `tiny_config`; nested configs are dictionaries."""
    return copy.deepcopy(_buildable(model_type))


@cache
def _buildable(model_type: str) -> dict[str, Any]:
    cls = CONFIG_MAPPING[model_type]
    for level in range(_LEVELS):
        try:
            kwargs = Shrink(model_type, level).kwargs(cls, "")
            build(model_type, meta=True, config=cls(**copy.deepcopy(kwargs)))
        except Exception:
            if level == _LEVELS - 1:
                raise
        else:
            return kwargs
    raise AssertionError(model_type)


def model_class(model_type: str, config: PretrainedConfig) -> type[torch.nn.Module]:
    """The class that is built. Raises `LookupError` where transformers has none for the type."""
    candidates: list[type[torch.nn.Module]] = []
    pairs = list(zip(MAPPINGS, _NAMES, strict=True))
    if getattr(config, "is_encoder_decoder", False):  # both stacks, not the decoder alone
        pairs = [*pairs[1:], pairs[0]]
    for mapping, names in pairs:
        if model_type in getattr(auto, names):
            found = getattr(auto, mapping)[type(config)]
            candidates += found if isinstance(found, (list, tuple)) else [found]
    if not candidates:
        raise LookupError(f"{model_type}: expected a type of one of {', '.join(_NAMES)}, found none")
    whole = not any(isinstance(value, PretrainedConfig) for value in vars(config).values())
    # The causal class of a composite is that of its text part; the whole has one further on.
    return next((cls for cls in candidates if whole or isinstance(config, cls.config_class or ())), candidates[-1])


def build(model_type: str, *, meta: bool = False, config: PretrainedConfig | None = None) -> torch.nn.Module:
    """The type's model, in eval mode. Not on meta: seeded, with norm parameters that are far from their start values."""
    torch.set_num_threads(1)
    config = config if config is not None else tiny_config(model_type)
    torch.manual_seed(0)
    if not meta:
        _bounded(model_type, config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = model_class(model_type, config)
        with torch.device("meta" if meta else "cpu"):
            model = cls(config).eval()
    if not meta:
        disturb(model)
    return model


@cache
def _shrunk_size(model_type: str) -> int:
    return sum(parameter.numel() for parameter in build(model_type, meta=True).parameters())


def _bounded(model_type: str, config: PretrainedConfig) -> None:
    """Raises `MemoryError` for a type that no rule shrinks: its variations are built for real dozens of times."""
    del config
    size = _shrunk_size(model_type)
    if size > _MOST_PARAMETERS:
        raise MemoryError(f"{size // 1_000_000:,} million parameters even when shrunk")


def disturb(model: torch.nn.Module) -> None:
    """Random norm parameters: gains 1 ± 0.3 in effect, biases ± 0.3, running statistics likewise."""
    generator = torch.Generator().manual_seed(1)
    for _, module in norms.candidates(model):
        found = norms.measured(module)
        if found is None:
            continue
        held = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
        starts = {found.gain: 1.0 - found.offset, found.bias: 0.0, "running_mean": 0.0, "running_var": 1.0}
        for name, start in starts.items():
            if name in held:
                noise = torch.rand(held[name].shape, generator=generator) * 0.6 - 0.3
                held[name].data.copy_(start + noise)
