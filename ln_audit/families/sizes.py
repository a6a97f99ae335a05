"""The numbers that shapes and layers follow: from the config, else the loader's default, else the tensors themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ln_audit.errors import FamilyError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Checkpoint
    from ln_audit.families.schema import Family, Size
    from ln_audit.families.spelling import Spelling
    from ln_audit.formats.config import Config

_MOST = 1_000_000  # no width or depth comes near; a config may not make us loop or allocate beyond it


@dataclass(frozen=True, slots=True)
class Resolved:
    """A size and where it was learnt; `value` is None when nothing tells it."""

    value: int | None
    where: str


def resolve(
    family: Family, config: Config | None, checkpoint: Checkpoint, spelling: Spelling
) -> Mapping[str, Resolved]:
    """Every size of the family. Raises `FamilyError` when the config holds something that is no size."""
    return {
        key: _from_tensors(size, checkpoint, spelling) if config is None else _from_config(size, config)
        for key, size in family.sizes.items()
    }


def _from_config(size: Size, config: Config) -> Resolved:
    found: list[tuple[str, int]] = []
    for key in (size.key, *size.aliases):
        if config.has(key):
            value = config.get(key)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST:
                raise FamilyError(
                    f"{config.where}: {key}: expected a whole number from 1 to {_MOST:,}, found {shown(value)}"
                )
            found.append((key, value))
    if found:
        (key, value), (other, differing) = found[0], found[-1]
        if value != differing:  # which of the two counts depends on the loader
            raise FamilyError(f"{config.where}: {other}: expected {value:,} as {key} says, found {differing:,}")
        return Resolved(value, f"{config.where}: {key}")
    if size.default is None:
        return Resolved(None, f"{config.where} has no {size.key}")
    return Resolved(size.default, f"the loader's default, {config.where} has no {size.key}")


def _from_tensors(size: Size, checkpoint: Checkpoint, spelling: Spelling) -> Resolved:
    if size.count is not None:
        before, _, after = size.count.partition("{layer}")
        pattern = re.compile(rf"(?:^|\.){re.escape(before)}([0-9]{{1,7}}){re.escape(after)}")
        layers = {int(match[1]) for name in spelling.view.actual if (match := pattern.search(name)) is not None}
        deepest = max(layers, default=-1) + 1
        return Resolved(min(deepest, _MOST) or None, "counted in the tensors, no config")
    if size.tensor is not None:
        name, _ = spelling.find(size.tensor)
        info = checkpoint.tensors.get(name)
        if info is not None and len(info.shape) > size.axis and 0 < info.shape[size.axis] <= _MOST:
            return Resolved(info.shape[size.axis], f"the shape of {name}, no config")
    return Resolved(None, f"no config, and no {size.tensor} to read it from")


def layer_of(name: str, before: str, after: str) -> int | None:
    """The layer of `name` under a pattern `before{layer}after`, whatever wrapper stands in front; None when it is another name."""
    if not name.endswith(after):
        return None
    start, dot, digits = name[: len(name) - len(after)].rpartition(".")
    if before:
        if not (start + dot).endswith(before):
            return None
        rest = (start + dot)[: len(start + dot) - len(before)]
        if rest and not rest.endswith("."):
            return None
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 7 else None
