"""Checkpoints in the layout of another release than the Hub's, whatever their format: told by names that only it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.names_index import index, layout
from ln_audit.formats.config import Config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ln_audit.core import Checkpoint
    from ln_audit.families.names_table import Layout


def find(checkpoint: Checkpoint) -> Layout | None:
    """The layout whose telling names, or telling facts, are all in the checkpoint; None where its names are the Hub's."""
    tensors = checkpoint.tensors
    first = next(iter(tensors), "")
    for name, telling in index()["layouts"].items():
        if checkpoint.format in telling.get("not_in", ()):
            continue
        facts = telling.get("declared")
        if facts is not None:
            stated = {fact.key: fact.value for fact in checkpoint.declared if fact.key in facts}
            if stated == facts:
                return layout(name)
            continue
        words = telling.get("words")
        if words is not None and any(all(word in first for word in each) for each in words):
            if not any(word in first for word in telling.get("no_words", ())):
                return layout(name)
            continue
        if any(all(root + each in tensors for each in some) for root in telling["roots"] for some in telling["names"]):
            return layout(name)
    return None


def family(checkpoint: Checkpoint, config: Config | None) -> tuple[str, str] | None:
    """(family, by what) of a layout that stands for one, unless the config says that it is another."""
    found = find(checkpoint)
    if found is None or found.stands_for is None:
        return None
    telling: Mapping[str, Any] = index()["layouts"][found.name]
    stated = None if config is None else config.get("model_type")
    names = ", ".join(telling["names"][0][:2]) if telling.get("names") else found.title
    if stated is not None:
        if stated not in telling.get("model_types", ()) or config is None:
            return None
        return found.stands_for, f'model_type "{stated}" in {config.where}, and names of {found.title}'
    return found.stands_for, f"names of {found.title} ({names}, …)"


def translated(checkpoint: Checkpoint, family: str, config: Config | None) -> Config | None:
    """The config beside a checkpoint under config.json's keys, where its layout has others (Meta's params.json).

    A key that the config has under both names keeps config.json's.
    """
    found = None if config is None else find(checkpoint)
    names = None if found is None else found.families.get(family)
    if config is None or names is None or not names.config:
        return config
    spelt = {ours: theirs for ours, theirs in names.config.items() if config.has(theirs) and not config.has(ours)}
    added = {ours: config.get(theirs) for ours, theirs in spelt.items()}
    return Config({**config.data, **added}, config.where, config.repeated, spelt) if added else config
