"""Where tiny models come from: `scripts.derive.tiny`, by which the tables were derived too. What is too large to save twenty
times, or needs a library that is not there, is said and left out.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

RUNNABLE = Path(__file__).with_name("runnable.toml")
_MOST = 40_000_000  # parameters; each fault writes the whole model


class NotBuiltError(Exception):
    """A model that is not built here; its text is the reason."""


def model_types() -> list[str]:
    """Every model type that transformers knows, causal language models first."""
    from scripts.derive import tiny

    return tiny.model_types()


def config(model_type: str) -> Any:
    """A config of few layers and channels that the model can be run with."""
    from scripts.derive import tiny

    made: Any = tiny.tiny_config(model_type)
    for key, value in tomllib.loads(RUNNABLE.read_text(encoding="utf-8")).get(model_type, {}).items():
        *path, last = key.split(".")
        inner: Any = made
        for name in path:
            inner = inner[name] if isinstance(inner, dict) else getattr(inner, name)
        if isinstance(inner, dict):
            inner[last] = value
        else:
            setattr(inner, last, value)
    return made


def build(model_type: str, config: Any) -> Any:
    """The model of that config, with its head where it has one. Raises `NotBuiltError` for one that is too large."""
    from scripts.derive import tiny

    count = sum(parameter.numel() for parameter in tiny.build(model_type, meta=True, config=config).parameters())
    if count > _MOST:
        raise NotBuiltError(f"{count:,} parameters in the smallest that its config allows")
    return tiny.build(model_type, config=config)
