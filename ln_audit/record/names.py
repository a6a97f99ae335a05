"""The names that a loaded model's modules have in its checkpoint: transformers renames some of them when it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WRAPPERS = ("_orig_mod", "module")  # torch.compile's; DataParallel's, DistributedDataParallel's


def unwrapped(model: Any) -> Any:
    """The model itself, without what runs it: its modules do the computing, and hooks on them fire."""
    while True:
        inner = next((model._modules[name] for name in _WRAPPERS if list(model._modules) == [name]), None)  # noqa: SLF001
        if inner is None:
            return model
        model = inner


def modules(model: Any) -> Mapping[str, Any]:
    """Every module by the name that a checkpoint has for it: `model.norm` → the module."""
    rename = _renaming(model)
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        if name:
            found[rename(f"{name}.weight").removesuffix(".weight")] = module
    return found


def tensors(model: Any) -> Mapping[str, Any]:
    """Every parameter and buffer by the name that a checkpoint has for it."""
    rename = _renaming(model)
    held = dict(model.named_parameters()) | dict(model.named_buffers())
    return {rename(name): tensor for name, tensor in held.items()}


def spellings(model: Any) -> Mapping[int, tuple[str, ...]]:
    """Every parameter by its `id`, with all names that a checkpoint may have for it: one that is tied to others has several."""
    rename = _renaming(model)
    found: dict[int, tuple[str, ...]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found[id(parameter)] = (*found.get(id(parameter), ()), rename(name))
    return found


def _renaming(model: Any) -> Callable[[str], str]:
    """From names in memory to names in the checkpoint: what transformers does when it saves, for names alone."""
    try:
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import PrefixChange, WeightRenaming, apply_renamings
        from transformers.modeling_utils import PreTrainedModel
    except ImportError:  # not installed, or before version 5, which renames nothing
        return _same
    if not isinstance(model, PreTrainedModel):
        return _same
    conversions = getattr(model, "_weight_conversions", None)
    if conversions is None:  # never loaded from a file
        made = get_model_conversion_mapping(model, add_legacy=False)
        conversions = [each for each in made if not isinstance(each, PrefixChange)]
    reverse = [each.reverse_transform() for each in reversed(conversions)]
    renamings = [each for each in reverse if isinstance(each, WeightRenaming)]
    return (lambda name: str(apply_renamings(name, renamings))) if renamings else _same


def _same(name: str) -> str:
    return name
