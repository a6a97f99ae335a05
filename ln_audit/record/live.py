"""A torch model in memory as the source that a saved checkpoint is held to; of its tensors only the norms' are copied."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ln_audit.core import Checkpoint, Stored, TensorInfo
from ln_audit.demand import InMemory, NormModule
from ln_audit.errors import SourceError, UsageError
from ln_audit.formats.shown import shown
from ln_audit.record import stated
from ln_audit.record.names import modules, spellings, tensors, unwrapped
from ln_audit.record.needed import need
from ln_audit.record.tensors import FLOATS, block, held, name_of
from ln_audit.sources.in_memory import InMemorySource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME = "the model in memory"
_FLATTENED = ("_flat_param", "_fsdp_wrapped_module")  # in the names of FSDP's first version


def live(model: Any) -> InMemory:
    """The model with the names and the config.json that it would be saved with.

    What is spread over several processes cannot be compared in one of them, and says so. Raises `RecordingError` without torch,
    `UsageError` for what is no model.
    """
    need("torch")
    if not hasattr(model, "named_parameters"):
        raise UsageError(f"model: expected a torch.nn.Module, found {shown(model)}")
    inner = unwrapped(model)
    norms = tuple(_norm_modules(inner))
    found = dict(tensors(inner))
    for module, own in norms:
        found |= own if module.called else {}  # also where it is tied to what comes first
    written = getattr(getattr(inner, "config", None), "to_json_string", None)
    files = {} if written is None else {"config.json": written().encode()}
    infos = {name: TensorInfo(name, _dtype(tensor), _shape(tensor), _bytes(tensor)) for name, tensor in found.items()}
    checkpoint = Checkpoint("safetensors", (NAME,), MappingProxyType(infos), _reader(found))
    flat = next((name for name in found if any(mark in name for mark in _FLATTENED)), None)
    failure = (
        "" if flat is None else f"{NAME}: {flat}: expected whole tensors, found them spread over processes by FSDP"
    )
    return InMemory(InMemorySource(NAME, files), checkpoint, failure, tuple(module for module, _ in norms))


def _norm_modules(model: Any) -> Iterator[tuple[NormModule, dict[str, Any]]]:
    """What may be a promised norm, whatever its class is called: each module with those of its own parameters that are saved."""
    unsaved = tuple(getattr(model, "_keys_to_ignore_on_save", None) or ())
    spelt = spellings(model)
    for name, module in modules(model).items():
        own = {f"{name}.{each}": tensor for each, tensor in module.named_parameters(recurse=False)}
        called = stated.looks_like_a_norm(module)
        if own or called:
            held = {each: own[each] for each in own if not any(re.search(word, each) for word in unsaved)}
            tied = {each: tuple(other for other in spelt[id(held[each])] if other not in held) for each in held}
            eps, in_code = stated.epsilon(module), stated.epsilon_in_code(module)
            yield NormModule(name, tuple(held), eps, in_code, stated.kind(module), called, tied), held


def _reader(found: Mapping[str, Any]) -> Any:
    def read(names: Sequence[str]) -> Mapping[str, Stored]:
        """Raises `SourceError` for what this process does not hold whole, `RecordingError` for what is no float."""
        return {name: _stored(name, found[name]) for name in names}

    return read


def _stored(name: str, tensor: Any) -> Stored:
    spread = hasattr(tensor, "to_local") or hasattr(tensor, "ds_id")  # DTensor; DeepSpeed's third stage
    if spread or not held(tensor):
        where = "it spread over processes" if spread else "it offloaded"
        raise SourceError(f"{NAME}: {name}: expected a tensor that this process holds whole, found {where}")
    copied = block(tensor, f"{NAME}: {name}")
    return Stored(copied.dtype, copied.shape, bytes(copied.data))


def _dtype(tensor: Any) -> str:
    return FLOATS.get(str(tensor.dtype), name_of(tensor.dtype).upper())


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(getattr(tensor, "ds_shape", tensor.shape))


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
