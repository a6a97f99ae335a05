"""What a tiny model is run on: random tokens, pixels or sound of the sizes that its config asks for."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BINS = ("num_mel_bins", "feature_size", "n_mels", "input_feat_per_channel", "feature_projection_input_dim")
_TOKENS = 12
_LARGE = 400  # pixels; beyond, a pass takes seconds


def attempts(model: Any, torch: Any) -> Iterator[dict[str, Any]]:
    """Keyword arguments for forward passes, the likeliest first: how a model wants its pixels or sound no signature says."""
    accepted = inspect.signature(model.forward).parameters
    usual = _usual(model, accepted, torch)
    yield usual
    if "pixel_values" in accepted and "pixel_values" not in usual:
        yield usual | {"pixel_values": _pixels(model.config, torch)}
    for name in ("input_values", "input_features"):
        if name in usual and usual[name].dim() == 2:
            yield usual | {name: usual[name][:, None]}
        elif name in usual:
            yield usual | {name: usual[name].mT.contiguous()}
    if "pixel_values_videos" in accepted or "pixel_values" in usual:
        name = "pixel_values_videos" if "pixel_values_videos" in accepted else "pixel_values"
        frames = getattr(model.config, "num_frames", None) or 2
        yield usual | {name: _pixels(model.config, torch)[:, None].repeat(1, frames, 1, 1, 1)}
    if "grid_thw" in accepted:
        yield _patches(model.config, accepted, torch)


def _usual(model: Any, accepted: Mapping[str, Any], torch: Any) -> dict[str, Any]:
    """What the model's own main input asks for."""
    config, main = model.config, getattr(model, "main_input_name", "input_ids")
    given: dict[str, Any] = {}
    if "input_ids" in accepted:
        given["input_ids"] = _tokens(config, torch)
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in accepted:
        given["decoder_input_ids"] = _tokens(config, torch)
    if main == "pixel_values" or ("pixel_values" in accepted and "input_ids" not in accepted):
        given["pixel_values"] = _pixels(config, torch)
    if main == "input_features" or ("input_features" in accepted and "input_ids" not in accepted):
        inner = getattr(config, "encoder_config", None) or config
        bins = next((getattr(inner, key) for key in _BINS if getattr(inner, key, None)), 80)
        given["input_features"] = torch.randn(
            _batch(config), bins, 2 * (getattr(config, "max_source_positions", None) or 32)
        )
    if main == "input_values" or ("input_values" in accepted and "input_ids" not in accepted):
        given["input_values"] = torch.randn(_batch(config), 4000)
    if "bbox" in accepted:
        given["bbox"] = torch.zeros(_batch(config), _TOKENS, 4, dtype=torch.long)
    if "use_cache" in accepted:
        given["use_cache"] = False
    return given


def _patches(config: Any, accepted: Mapping[str, Any], torch: Any) -> dict[str, Any]:
    """Packed patches [n, values] of one image of 4 × 4 of them, for vision towers that take any size."""
    values = (getattr(config, "in_channels", None) or getattr(config, "in_chans", None) or 3) * config.patch_size**2
    values *= getattr(config, "temporal_patch_size", None) or 1
    name = next(key for key in ("hidden_states", "pixel_values") if key in accepted)
    return {name: torch.randn(16, values), "grid_thw": torch.tensor([[1, 4, 4]])}


def _tokens(config: Any, torch: Any) -> Any:
    """Token ids [n, 12] without any that the config gives a meaning to (padding, images, ends)."""
    try:
        text = config.get_text_config()
    except (AttributeError, ValueError):  # several text models in one: none of them is the text model
        text = getattr(config, "text_encoder", config)
    vocabulary = int(getattr(text, "vocab_size", None) or getattr(config, "vocab_size", None) or 64)
    special: set[int] = set()
    for each in (config, text):
        for key, value in each.to_dict().items():
            if key.endswith(("token_id", "token_index")):
                special.update(value if isinstance(value, list) else [value] if isinstance(value, int) else [])
    ordinary = [token for token in range(vocabulary) if token not in special] or [0]
    return torch.tensor(ordinary)[torch.randint(len(ordinary), (_batch(config), _TOKENS))]


def _pixels(config: Any, torch: Any) -> Any:
    vision = getattr(config, "vision_config", config)
    return torch.randn(_batch(config), getattr(vision, "num_channels", None) or 3, *_extent(config))


def _extent(config: Any) -> tuple[int, int]:
    size = getattr(getattr(config, "vision_config", config), "image_size", None) or 32
    high, wide = size if isinstance(size, (list, tuple)) else (size, size)
    return int(high), int(wide)


def _batch(config: Any) -> int:
    """Six, so that a norm of what was pooled sees six rows; two where a row is a large picture."""
    return 2 if max(_extent(config)) > _LARGE else 6
