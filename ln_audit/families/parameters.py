"""How many parameters a checkpoint holds, counted from its tensors: buffers left out, tied tensors once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.names import fill

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from ln_audit.core import Checkpoint, TensorInfo
    from ln_audit.families.reading import Reading


def count(checkpoint: Checkpoint, parts: Sequence[Reading]) -> int:
    """Logical elements of all tensors that the families of a model and its parts do not list as buffers.

    Tensors that the config, or the class's default, declares tied count once, whatever they are stored as.
    """
    if not parts:
        return sum(info.elements for info in checkpoint.tensors.values())
    view = parts[0].spelling.view
    kept = {name: checkpoint.tensors[actual] for name, actual in view.actual.items()}
    for reading in parts:
        for pattern in reading.family.buffers:
            for name in _matching(pattern, reading, kept):
                del kept[name]
        _without_tied(kept, reading)
    by_own_name = {name: own for own, name in view.actual.items()}
    for group in _stored_once(checkpoint):
        there = [by_own_name[name] for name in group if by_own_name.get(name) in kept]
        for copy in there[1:]:
            del kept[copy]
    return sum(info.elements for info in kept.values())


def _without_tied(kept: dict[str, TensorInfo], reading: Reading) -> None:
    """Leave one of each group that this part of the model ties."""
    family, config = reading.family, reading.config
    declared = None if config is None or family.tied_key is None else config.get(family.tied_key)
    if not (family.tied_default if declared is None else bool(declared)):
        return
    for group in family.tied:
        there = list(dict.fromkeys(name for pattern in group for name in _matching(pattern, reading, kept)))
        for copy in there[1:]:
            if kept[copy].shape == kept[there[0]].shape:
                del kept[copy]


def _stored_once(checkpoint: Checkpoint) -> Iterator[tuple[str, ...]]:
    """Groups of names for the same stored bytes, where the container says so (PyTorch's shared storages)."""
    for fact in checkpoint.declared:
        if fact.key == "tied" and isinstance(fact.value, tuple):
            yield from fact.value


def _matching(pattern: str, reading: Reading, kept: Container[str]) -> list[str]:
    """The names among `kept` that a pattern stands for, under any prefix or none."""
    found: dict[str, None] = {}
    for prefix in dict.fromkeys((*reading.spelling.prefixes, "")):
        whole = prefix + pattern
        names = [fill(whole, each) for each in reading.names.indexes(whole)] if "{" in whole else [whole]
        found.update((name, None) for name in names if name in kept)
    return list(found)
