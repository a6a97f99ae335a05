"""How many parameters a checkpoint holds, counted from its tensors: buffers left out, tied tensors once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ln_audit.families import containers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.core import Checkpoint
    from ln_audit.families.schema import Family
    from ln_audit.formats.config import Config


def count(checkpoint: Checkpoint, family: Family, config: Config | None) -> int:
    """Logical elements of all tensors that the family does not list as buffers.

    Tensors that the config, or the class's default, declares tied count once, whatever they are stored as.
    """
    buffers = [_pattern(pattern, family) for pattern in family.buffers]
    view = containers.view(checkpoint, family.name)
    named = {name: checkpoint.tensors[actual] for name, actual in view.actual.items()}
    kept = {name: info for name, info in named.items() if not any(b.fullmatch(name) for b in buffers)}
    declared = None if config is None or family.tied_key is None else config.get(family.tied_key)
    if family.tied_default if declared is None else bool(declared):
        for group in family.tied:
            there = [name for pattern in group for name in kept if _pattern(pattern, family).fullmatch(name)]
            for copy in there[1:]:
                if kept[copy].shape == kept[there[0]].shape:
                    del kept[copy]
    by_own_name = {name: own for own, name in view.actual.items()}
    for group in _stored_once(checkpoint):
        there = [by_own_name[name] for name in group if by_own_name.get(name) in kept]
        for copy in there[1:]:
            del kept[copy]
    return sum(info.elements for info in kept.values())


def _stored_once(checkpoint: Checkpoint) -> Iterator[tuple[str, ...]]:
    """Groups of names for the same stored bytes, where the container says so (PyTorch's shared storages)."""
    for fact in checkpoint.declared:
        if fact.key == "tied" and isinstance(fact.value, tuple):
            yield from fact.value


def _pattern(pattern: str, family: Family) -> re.Pattern[str]:
    prefix = "|".join(re.escape(prefix) for prefix in family.prefixes if prefix)
    return re.compile(f"(?:{prefix})?" + re.escape(pattern).replace(r"\{layer\}", r"\d+"))
