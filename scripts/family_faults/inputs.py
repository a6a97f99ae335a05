"""What a tiny model is run on: random tokens, pixels or sound of the sizes that its config asks for."""

from __future__ import annotations

import inspect
from typing import Any

_TOKENS = 12
_BATCH = 2


def inputs(model: Any, torch: Any) -> dict[str, Any]:
    """Keyword arguments for one forward pass, from the model's signature and its config."""
    config, accepted = model.config, inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "input_ids")
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    given: dict[str, Any] = {}
    if main == "input_ids" or "input_ids" in accepted:
        given["input_ids"] = _tokens(text, config, torch)
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in accepted:
        given["decoder_input_ids"] = _tokens(text, config, torch)
    if main == "pixel_values" or ("pixel_values" in accepted and "input_ids" not in accepted):
        given["pixel_values"] = _pixels(config, torch)
    if main == "input_features":
        length = 2 * getattr(config, "max_source_positions", 32)
        bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", None) or 80
        given["input_features"] = torch.randn(_BATCH, bins, length)
    if main == "input_values":
        given["input_values"] = torch.randn(_BATCH, 4000)
    if "use_cache" in accepted:
        given["use_cache"] = False
    return given


def _tokens(text: Any, config: Any, torch: Any) -> Any:
    """Token ids [2, 12] without any that the config gives a meaning to (padding, images, ends)."""
    vocabulary = int(getattr(text, "vocab_size", None) or getattr(config, "vocab_size", None) or 64)
    special: set[int] = set()
    for each in (config, text):
        for key, value in each.to_dict().items():
            if key.endswith(("token_id", "token_index")):
                special.update(value if isinstance(value, list) else [value] if isinstance(value, int) else [])
    ordinary = [token for token in range(vocabulary) if token not in special] or [0]
    return torch.tensor(ordinary)[torch.randint(len(ordinary), (_BATCH, _TOKENS))]


def _pixels(config: Any, torch: Any) -> Any:
    vision = getattr(config, "vision_config", config)
    size = getattr(vision, "image_size", None) or 32
    high, wide = size if isinstance(size, (list, tuple)) else (size, size)
    return torch.randn(_BATCH, getattr(vision, "num_channels", None) or 3, high, wide)
