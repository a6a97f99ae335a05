"""A config class's defaults made small: rules over its keys, and a table (`data/tiny.toml`) of what they do not reach."""

from __future__ import annotations

import dataclasses
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformers import PretrainedConfig

DATA = Path(__file__).with_name("data") / "tiny.toml"
_VOCABULARY = 99
_HIDDEN = {"vision": 96, "visual": 96, "audio": 80, "speech": 80}  # other parts: 64


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def layer_keys() -> frozenset[str]:
    """The config keys that count layers."""
    return frozenset(_table()["layers"])


def width_keys() -> tuple[str, ...]:
    """The config keys that are a model's width."""
    return tuple(_table()["hidden"])


class Shrink:
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
