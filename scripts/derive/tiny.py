"""Tiny models of every type that transformers knows: the class's own config, shrunk by rules over its keys.

`data/tiny.toml` holds what the rules do not reach. Relations of the defaults are kept where a model needs them: a head
width that is hidden over heads stays so, per-layer lists keep one layer of every kind they have.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import tomllib
import warnings
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import PretrainedConfig
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from . import stand_ins

stand_ins.install()
DATA = Path(__file__).with_name("data") / "tiny.toml"
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
_VOCABULARY = 99
_LEVELS = 4
_MOST_PARAMETERS = 420_000_000
_HIDDEN = {"vision": 96, "visual": 96, "audio": 80, "speech": 80}  # other parts: 64
_NAMES = tuple(f"{mapping}_NAMES" for mapping in MAPPINGS)


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def model_types() -> list[str]:
    """Every type of the mappings, causal language models first."""
    return list(dict.fromkeys(name for mapping in _NAMES for name in getattr(auto, mapping)))


def base_types() -> list[str]:
    """The types that `AutoModel` builds."""
    return list(auto.MODEL_MAPPING_NAMES)


def layer_keys() -> frozenset[str]:
    """The config keys that count layers."""
    return frozenset(_table()["layers"])


def width_keys() -> tuple[str, ...]:
    """The config keys that are a model's width."""
    return tuple(_table()["hidden"])


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
            kwargs = _Shrink(model_type, level).kwargs(cls, "")
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
    for module in model.modules():
        for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if not is_norm_parameter(module, name, tensor):
                continue
            noise = torch.rand(tensor.shape, generator=generator) * 0.6 - 0.3
            start = (
                1.0
                if name == "running_var" or (name not in ("bias", "running_mean") and _starts_at_one(tensor))
                else 0.0
            )
            tensor.data.copy_(start + noise)


def _starts_at_one(tensor: torch.Tensor) -> bool:
    return bool((tensor.detach().float() - 1).abs().max() < 0.5)


_NO_NORMS = (torch.nn.Linear, torch.nn.Embedding, torch.nn.modules.conv._ConvNd)  # noqa: SLF001


def is_norm_parameter(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> bool:
    """Whether a tensor may be a norm's: a floating vector that a leaf module with at most a gain and a bias holds."""
    if isinstance(module, _NO_NORMS) or any(True for _ in module.children()) or not tensor.is_floating_point():
        return False
    leaves = {key for key, _ in module.named_parameters(recurse=False)}
    if "norm" not in type(module).__name__.lower() and not leaves <= {"weight", "bias"}:
        return False
    if name in ("running_mean", "running_var"):
        return True
    return name in leaves and tensor.ndim <= 2 and tensor.numel() > 0 and len(leaves) <= 2


class _Shrink:
    """One attempt. Level 0 gives each part its own width, 1 all the same, 2 keeps the widths, 3 changes only the depth."""

    def __init__(self, model_type: str, level: int) -> None:
        self.model_type = model_type
        self.level = level

    def kwargs(self, cls: type[PretrainedConfig], path: str, default: PretrainedConfig | None = None) -> dict[str, Any]:
        """What a config class is called with: shrunk defaults, nested configs as dictionaries, the table's overrides."""
        rows = self.overrides(cls, path)
        first = rows.pop("default", {})
        default = cls(**first) if default is None or first else default
        declared = {each.name: each for each in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
        kept: dict[str, Any] = dict(first)
        plain = vars(cls(**first)) if path else {}
        for key, value in vars(default).items():
            if isinstance(value, PretrainedConfig):
                nested = self.kwargs(type(value), f"{path}{key}.", value)
                kept[key] = {"model_type": value.model_type, **nested} if value.model_type else nested
            elif key in declared and key not in first:
                given = path and not _same(
                    value, plain.get(key)
                )  # the whole gives its part another value than the part has
                if declared[key].default is None and not given and "token" not in key:
                    continue  # the class works it out, and will again
                small = self.small(key, value, default, path)
                if given or not _same(small, value):
                    kept[key] = small
        kept |= {key: value for key, value in _layers(default).items() if key not in first}
        return kept | rows

    def overrides(self, cls: type[PretrainedConfig], path: str) -> dict[str, Any]:
        """The table's rows: for a config of this type wherever it stands, then for this place in this type."""
        table = _table()
        rows = dict(table["config"].get(cls.model_type or cls.__name__, {}))
        return rows | table["model"].get(self.model_type, {}).get(path.rstrip(".") or "top", {})

    def small(self, key: str, value: Any, config: PretrainedConfig, path: str) -> Any:
        if isinstance(value, bool) or value is None or self.level == 3:
            return value
        if "token_id" in key or "token_index" in key or key.endswith(("_idx", "bos_id", "eos_id", "pad_id")):
            return _inside(value)
        if not isinstance(value, int):
            return value
        if "vocab_size" in key:
            return min(value, _VOCABULARY)
        return value if self.level == 2 else self.width(key, value, config, path)

    def width(self, key: str, value: int, config: PretrainedConfig, path: str) -> int:
        table = _table()
        hidden = next((small for word, small in _HIDDEN.items() if word in path and self.level == 0), 64)
        heads = next((vars(config)[k] for k in table["heads"] if isinstance(vars(config).get(k), int)), None)
        full = next((vars(config)[k] for k in table["hidden"] if isinstance(vars(config).get(k), int)), None)
        if key == "head_dim":
            return hidden // 4 if heads and heads * value == full else min(value, 24)
        if key in table["hidden"]:
            return min(value, hidden)
        if key in table["heads"]:
            return min(value, 4)
        if key in table["kv_heads"]:
            return min(value, 4 if value == heads else 2)
        limit = next((int(limit) for limit, keys in table["at_most"].items() if key in keys), value)
        return min(value, limit)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _layers(config: PretrainedConfig) -> dict[str, Any]:
    """The number of layers, and per-layer lists cut to the first layer of every kind."""
    found: dict[str, Any] = {}
    for key in _table()["layers"]:
        depth = vars(config).get(key)
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
            continue
        lists = {
            k: v for k, v in vars(config).items() if isinstance(v, (list, tuple)) and len(v) == depth and depth > 2
        }
        lists = {k: v for k, v in lists.items() if all(isinstance(each, (str, bool, int)) for each in v)}
        lists = {k: v for k, v in lists.items() if list(v) != list(range(depth))}  # numbers of layers, not kinds
        places = _places(list(lists.values()), depth)
        found[key] = len(places)
        found |= {k: [v[i] for i in places] for k, v in lists.items()}
    return found


def _places(lists: list[Any], depth: int) -> list[int]:
    """The first layer of every kind, at least two layers, at most eight."""
    kinds: dict[tuple[Any, ...], int] = {}
    for i in range(depth):
        kinds.setdefault(tuple(each[i] for each in lists), i)
    places = sorted(kinds.values())[:8]
    places += [i for i in range(depth) if i not in places][: max(0, min(2, depth) - len(places))]
    return sorted(places)


def _inside(value: Any) -> Any:
    """Token ids inside the vocabulary, different ones different."""
    if isinstance(value, (list, tuple)):
        return [_inside(each) for each in value]
    return value if not isinstance(value, int) or value < _VOCABULARY else 10 + value % 80
