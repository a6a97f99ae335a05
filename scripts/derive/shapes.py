"""What a norm's width follows: a product of config keys that holds in every variation, or a tensor beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING, Any

from . import shrink
from . import variations as varying
from .patterns import Indexes, Pattern, integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .patterns import Patterns


@dataclass(frozen=True)
class Width:
    """`product` over `over`; or the axis of a neighbour; or neither, where nothing tells."""

    product: tuple[str | int, ...] = ()
    over: tuple[str | int, ...] = ()
    like: tuple[Pattern, int] | None = None
    instead: str | None = None  # an undeclared key that the model takes instead where the config has it


Points = list[tuple[Any, int]]  # (config, width)


def explain(patterns: Patterns, stems: Sequence[dict[Indexes, tuple[int, ...]]], pattern: Pattern) -> Width:
    """`stems`: per survey, the shapes of the norm's gains by their indexes."""
    points: Points = []
    uneven, instead = False, None
    for config, shapes in zip(patterns.configs, stems, strict=True):
        widths = {prod(shape) for shape in shapes.values()}
        uneven = uneven or len(widths) > 1
        if len(widths) == 1:
            given = varying.undeclared(config, patterns.varied.config)
            if given is not None and given[1] in widths and points and points[0][1] not in widths:
                instead = given[0]
            elif given is None or points[0][1] in widths:
                points.append((config, widths.pop()))
    moving = _moving(patterns, stems)
    if not uneven and points and (moving or not _suspect(patterns, points[0][1])):
        found = formula(points, moving)
        if found is not None:
            return replace(found, instead=instead)
    like = _neighbour(patterns, stems, pattern)
    if like is not None:
        return Width(like=like)
    return Width()


def _suspect(patterns: Patterns, width: int) -> bool:
    """Whether a width that nothing moved may follow a key that could not be changed."""
    varied = patterns.varied
    done = {each.key for each in varied.variations}
    return any(
        value > 1 and width % value == 0 and key not in done
        for key, value in integers(varied.config)
        if key.rpartition(".")[2] in shrink.width_keys() or "dim" in key or "size" in key
    )


def _moving(patterns: Patterns, stems: Sequence[dict[Indexes, tuple[int, ...]]]) -> set[str]:
    """The keys whose change alone changed the width."""
    base = {prod(shape) for shape in stems[0].values()}
    return {
        each.key
        for each, shapes in zip(patterns.varied.variations, stems[1:], strict=True)
        if shapes and base and {prod(shape) for shape in shapes.values()} != base
    }


def formula(points: Points, moving: set[str], without: str | None = None) -> Width | None:
    """The simplest product of keys that is the width at every point."""
    config, width = points[0]
    values = dict(integers(config))
    table = {key: [varying.get(each, key) for each, _ in points] for key in values if key != without}
    table = {key: row for key, row in table.items() if all(isinstance(value, int) and value > 0 for value in row)}
    widths = [each for _, each in points]
    if not moving:
        return None if len(points) < 2 else Width(product=(width,))
    for key, row in sorted(table.items(), key=lambda item: (item[0] not in moving, item[0].count("."))):
        if row == widths:
            return Width(product=(key,))
    keys = [key for key in table if key in moving]
    for count in (1, 2, 3):
        for chosen in combinations_with_replacement(keys, count):
            products = [prod(table[key][i] for key in chosen) for i in range(len(points))]
            found = _scaled(widths, products, chosen)
            if found is not None:
                return found
            for below in [key for key in keys if key not in chosen]:
                found = _scaled(widths, [v // table[below][i] for i, v in enumerate(products)], chosen, (below,))
                if found is not None:
                    return found
    return None


def _scaled(
    widths: list[int], products: list[int], chosen: tuple[str, ...], over: tuple[str, ...] = ()
) -> Width | None:
    if all(products) and products[0] and widths[0] % products[0] == 0:
        factor = widths[0] // products[0]
        if factor <= 8 and [value * factor for value in products] == widths:
            return Width((*chosen, *((factor,) if factor > 1 else ())), over)
    if all(products) and widths[0] and products[0] % widths[0] == 0:
        factor = products[0] // widths[0]
        if 1 < factor <= 8 and widths == [value // factor for value in products]:
            return Width(chosen, (*over, factor))
    return None


def _neighbour(
    patterns: Patterns, stems: Sequence[dict[Indexes, tuple[int, ...]]], pattern: Pattern
) -> tuple[Pattern, int] | None:
    """The nearest tensor of two axes or more, one of which has the norm's width wherever the norm is."""
    wanted = [{at: prod(shape) for at, shape in shapes.items()} for shapes in stems]
    possible: dict[tuple[Pattern, int], bool] = {}
    own, first = pattern.tokens, next(i for i, each in enumerate(wanted) if each)
    for survey_at, survey in enumerate(patterns.surveys):
        if not wanted[survey_at] or varying.undeclared(patterns.configs[survey_at], patterns.varied.config):
            continue
        here: dict[tuple[Pattern, int], dict[Indexes, int]] = {}
        for name, shape in survey.tensors.items():
            if len(shape) < 2:
                continue
            theirs, at = patterns.split(name)
            if theirs.parents() != pattern.parents()[: len(theirs.parents())]:
                continue
            for axis, size in enumerate(shape):
                here.setdefault((theirs, axis), {})[at] = size
        for key in set(here) | set(possible):
            rows = here.get(key, {})
            deep = len(key[0].parents())
            fits = all(rows.get(at[:deep]) == width for at, width in wanted[survey_at].items())
            possible[key] = fits and possible.get(key, survey_at == first)
    fitting = [key for key, fits in possible.items() if fits]
    return min(fitting, key=lambda key: _distance(key, own), default=None)


def _distance(key: tuple[Pattern, int], own: tuple[str | None, ...]) -> tuple[int, int, int, str]:
    shared = 0
    for ours, theirs in zip(own, key[0].tokens, strict=False):
        if ours != theirs:
            break
        shared += 1
    return -shared, len(key[0].tokens), key[1], str(key[0].tokens)
