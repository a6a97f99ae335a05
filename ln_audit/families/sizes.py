"""The numbers that shapes and layers follow: from the config, else the loader's default, else the tensors themselves."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FamilyError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Checkpoint
    from ln_audit.families.names import Names
    from ln_audit.families.schema import Family, Size
    from ln_audit.families.spelling import Spelling
    from ln_audit.formats.config import Config

_MOST = 1_000_000  # no width or depth comes near; a config may not make us loop or allocate beyond it


class Resolved(NamedTuple):
    """A size and where it was learnt; `value` is None when nothing tells it."""

    value: int | None
    where: str


def resolve(
    family: Family,
    config: Config | None,
    checkpoint: Checkpoint,
    spelling: Spelling,
    names: Names,
    *,
    states: Callable[[str], bool] = lambda _: True,
) -> Mapping[str, Resolved]:
    """Every size of the family. Raises `FamilyError` when the config holds something that is no size.

    `states`: whether the config could hold a key at all; a container's own (GGUF) knows only some of them, and what it cannot
    say has no default.
    """
    found: dict[str, Resolved] = {}
    needed = {
        key for norm in family.norms if not norm.when and norm.first is None for key in (*norm.shape, norm.layers)
    }  # others may be 0: next-token blocks that a model has not, parts that a condition switches off
    counted = {norm.layers for norm in family.norms}
    for key, size in family.sizes.items():
        least = 1 if key in needed and size.default != 0 else 0
        told = None if config is None or size.computed else _written(size, config, least, of_layers=key in counted)
        if told is None and (config is None or not states(key)) and not size.computed:
            told = _from_tensors(size, checkpoint, spelling, names)
        found[key] = told or Resolved(None, "")
    for key, size in family.sizes.items():
        if not found[key].where or (found[key].value is None and size.product):
            found[key] = _derived(size, config, found, family.sizes, stated=states(key))
    return found


def product(shape: Sequence[str | int], sizes: Mapping[str, Resolved]) -> Resolved:
    """The product of sizes and numbers, and from where its factors come; unknown when one of them is."""
    factors = [Resolved(each, "") if isinstance(each, int) else sizes[each] for each in shape]
    where = " × ".join(factor.where or str(factor.value) for factor in factors)
    values = [factor.value for factor in factors if factor.value is not None]
    return Resolved(prod(values) if len(values) == len(factors) else None, where)


def _written(size: Size, config: Config, least: int, *, of_layers: bool) -> Resolved | None:
    """What the config says; None where it says nothing, or null where the loader then works it out."""
    found: list[tuple[str, int]] = []
    for key in (size.key, *size.aliases):
        value = config.get(key)
        if not config.has(key) or (value is None and (size.product or size.default is not None)):
            continue
        if of_layers and isinstance(value, (list, tuple)):
            value = len(value)  # `layers_block_type`: what each layer is
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST:
            raise FamilyError(
                f"{config.at(key)}: expected a whole number from {least} to {_MOST:,}, found {shown(value)}"
            )
        found.append((key, value))
    if not found:
        return None
    (key, value), (other, differing) = found[0], found[-1]
    if value != differing:  # which of the two counts depends on the loader
        raise FamilyError(f"{config.at(other)}: expected {value:,} as {key} says, found {differing:,}")
    return Resolved(value, config.at(key))


def _derived(
    size: Size, config: Config | None, found: Mapping[str, Resolved], sizes: Mapping[str, Size], *, stated: bool
) -> Resolved:
    """What a loader takes where the key is absent: a quotient of other sizes, else its default."""
    if size.product:
        known = {
            key: each if each.where or not sizes[key].default else Resolved(sizes[key].default, f"default {key}")
            for key, each in found.items()
        }
        above, below = product(size.product, known), product(size.over, known)
        if above.value is not None and below.value:
            over = f" / {below.where}" if size.over else ""
            return Resolved(above.value // below.value, f"{above.where}{over}")
    if config is None:
        return Resolved(None, f"no config that tells {size.key}")
    if size.default is None or not stated:
        return Resolved(None, f"{config.where} has no {size.key}")
    return Resolved(size.default, f"the loader's default, {config.where} has no {size.key}")


def _from_tensors(size: Size, checkpoint: Checkpoint, spelling: Spelling, names: Names) -> Resolved | None:
    if size.count is not None:
        patterns = [prefix + size.count for prefix in spelling.prefixes]
        layers = {found["layer"] for pattern in patterns for found in names.indexes(pattern)}
        deepest = max(layers, default=-1) + 1
        return Resolved(min(deepest, _MOST) or None, "counted in the tensors, no config")
    if size.tensor is not None:
        name, _ = spelling.find(size.tensor)
        info = checkpoint.tensors.get(name)
        if info is not None and len(info.shape) > size.axis and 0 < info.shape[size.axis] <= _MOST:
            return Resolved(info.shape[size.axis], f"the shape of {name}, no config")
        return Resolved(None, f"no config, and no {size.tensor} to read it from")
    return None
