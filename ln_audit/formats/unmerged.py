"""Folders that hold a part of a model: adapters, and what distributed training saves before it is merged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ln_audit.errors import FormatError
from ln_audit.formats.bounded_json import read_object
from ln_audit.formats.shown import shown
from ln_audit.formats.unread import holds_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.core import Source

ADAPTER = "adapter_config.json"  # PEFT's
MAX_ADAPTER = 1_000_000  # bytes; a few hundred are usual

# One row per kind: its files, what it is, and how the whole model comes of it.
_PARTS = (
    (
        re.compile(r"(?:.*/)?__\d+_\d+\.distcp"),
        "a distributed checkpoint of PyTorch (DCP, FSDP)",
        "merge it first: python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER model.pt",
    ),
    (
        re.compile(r"(?:.*/)?(?:bf16_|fp16_)?zero_pp_rank_\d+_mp_rank_\d+_\w+\.pt"),
        "ZeRO shards of DeepSpeed",
        "merge them first: python zero_to_fp32.py FOLDER OUTPUT, with the script that lies beside them",
    ),
    (
        re.compile(r"(?:.*/)?mp_rank_\d+(?:_model_states\.pt|/.*)"),
        "tensor-parallel shards of Megatron or DeepSpeed",
        "merge them first, with the converter of the framework that wrote them",
    ),
)


def refuse_parts(source: Source, names: Sequence[str]) -> None:
    """Raise `FormatError` for a folder that is no whole model, saying what it is and how it becomes one.

    An adapter beside a whole model is left alone.
    """
    for pattern, what, hint in _PARTS:
        part = next((name for name in names if pattern.fullmatch(name)), None)
        if part is not None and not any(name.startswith(("model.", "pytorch_model.")) for name in names):
            raise FormatError(f"{part}: expected a whole model, found {what}", hint=hint)
    weights = [name for name in names if name.endswith((".safetensors", ".bin")) and "/" not in name]
    if ADAPTER in names and all(name.startswith("adapter_model.") for name in weights if holds_weights(name)):
        raise _adapter(source)


def _adapter(source: Source) -> FormatError:
    members = dict(read_object(source, ADAPTER, at_most=MAX_ADAPTER, what="an adapter's configuration"))
    kind, base = members.get("peft_type"), members.get("base_model_name_or_path")
    of = f" of {shown(base)}" if isinstance(base, str) else ""
    return FormatError(
        f"{ADAPTER}: expected a whole model, found a {shown(kind) if isinstance(kind, str) else 'PEFT'} adapter{of}",
        hint="its norms are those of the base model, unless it trains them: verify that, or merge the adapter first (merge_and_unload)",
    )
