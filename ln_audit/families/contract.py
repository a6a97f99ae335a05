"""From a family's table and a model's config to the norms that this checkpoint must hold: the only code that families need."""

from __future__ import annotations

from dataclasses import replace
from itertools import product as cartesian
from itertools import takewhile
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Norm, Place
from ln_audit.errors import FamilyError
from ln_audit.families.epsilon import find_epsilon
from ln_audit.families.names import fill
from ln_audit.families.sizes import Resolved, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.demand import Demand
    from ln_audit.families.epsilon import Epsilon
    from ln_audit.families.reading import Reading
    from ln_audit.families.schema import Promise
    from ln_audit.families.spelling import Spelling

_MOST_LAYERS = 4_096  # a config may not make us build more; the deepest models that were ever trained have about 1,000
_MOST_NORMS = 65_536  # of a model, and of one row: 1,024 layers of 64 heads


def contract(parts: Sequence[Reading], checkpoint: Checkpoint, demand: Demand) -> tuple[Norm, ...]:
    """Every norm that a model's families promise for it, as its readings have them; final norms last as in the tables.

    Raises `FamilyError` when the config's sizes are no sizes.
    """
    norms = [norm for reading in parts for norm in _of(reading, checkpoint, demand)]
    return at_sites(held_to(norms, demand), checkpoint)


def _of(reading: Reading, checkpoint: Checkpoint, demand: Demand) -> Iterator[Norm]:
    """The norms of one reading, row by row."""
    family, found = reading.family, {}
    for name, promised in ((None, family.epsilon), *family.epsilons.items()):
        asked = demand if name is None and reading.main else replace(demand, eps=None)
        found[name] = find_epsilon(promised, family.name, reading.config, checkpoint, asked)
    absent = _absent_stacks(reading)
    tried = 0
    listed: set[str] = set()  # rows of one name under conditions that nobody can decide: the tensors are there once
    for promise in reading.promises():
        holds = reading.holds(promise.when)
        doubt = "" if holds else f"whether it has one depends on {promise.when[0].key if promise.when else ''}"
        if holds is not False and promise.stack in absent:
            holds, doubt = (
                None,
                f"no tensor of its {promise.stack} ({absent[promise.stack]}.) is there: is this a part of the model?",
            )
        for indexes in expand(promise, reading) if holds is not False else ():
            tried += 1
            if tried > _MOST_NORMS:
                raise FamilyError(f"{family.name}: expected at most {_MOST_NORMS:,} norms, found more")
            norm = _norm(promise, indexes, reading, found[promise.epsilon], checkpoint)
            there = any(name in checkpoint.tensors for name in norm.tensors)
            if holds is None and norm.name in listed:
                continue
            if there or (_required(promise, indexes, reading) and (holds or norm.role == "final")):
                listed.add(norm.name)
                yield replace(norm, doubt="" if there else doubt)


def expand(promise: Promise, reading: Reading) -> Iterator[Mapping[str, int]]:
    """Every combination of values that the indexes of a row have in this model.

    Raises `FamilyError` for more than any model has.
    """
    counted = dict(promise.counts) | ({} if promise.layers is None else {"layer": promise.layers})
    ranges: dict[str, range] = {}
    for index, key in counted.items():
        first = 0 if index != "layer" or promise.first is None else reading.sizes[promise.first].value or 0
        size = reading.sizes[key]
        if (size.value or 0) > _MOST_LAYERS:
            raise FamilyError(f"{size.where}: expected at most {_MOST_LAYERS:,} layers, found {size.value:,}")
        ranges[index] = range(first, first + (size.value or 0))
    total = 1
    for each in ranges.values():
        total *= len(each)
    if total > _MOST_NORMS:
        raise FamilyError(f"{promise.name}: expected at most {_MOST_NORMS:,} norms, found {total:,}")
    if set(promise.indexes) <= set(ranges):
        yield from (dict(zip(ranges, values, strict=True)) for values in cartesian(*ranges.values()))
        return
    for found in _enumerated(promise, reading):
        rest = {index: values for index, values in ranges.items() if index not in found}
        if all(found[index] in values for index, values in ranges.items() if index in found):
            yield from (found | dict(zip(rest, values, strict=True)) for values in cartesian(*rest.values()))


def _enumerated(promise: Promise, reading: Reading) -> Iterator[dict[str, int]]:
    """What the checkpoint's tensors under `beside`, or of the norm itself, tell of the indexes that nothing counts."""
    prefixes = ("",) if promise.rooted else reading.spelling.prefixes
    seen: dict[tuple[tuple[str, int], ...], None] = {}
    for prefix in prefixes:
        for pattern in dict.fromkeys((f"{prefix}{promise.beside or promise.name}", f"{prefix}{promise.name}.")):
            for found in reading.names.indexes(pattern):
                if set(promise.indexes) <= set(found) | set(promise.counts) | {"layer"} & {promise.layers and "layer"}:
                    seen.setdefault(tuple((index, found[index]) for index in promise.indexes if index in found))
    yield from (dict(found) for found in sorted(seen))


def _required(promise: Promise, indexes: Mapping[str, int], reading: Reading) -> bool:
    """Whether a model of this shape must have the norm: what it stands beside is there, and so is its stack.

    A layer of which nothing is there excuses none of its own norms.
    """
    stacked = _is_main(promise, reading) or _stands(promise, indexes, reading)
    if promise.beside is None or promise.gain == "none" or (stacked and _lost(promise, indexes, reading)):
        return stacked or promise.gain == "none"
    return stacked and reading.has(fill(promise.beside, indexes), rooted=promise.rooted)


def _stands(promise: Promise, indexes: Mapping[str, int], reading: Reading) -> bool:
    """Whether its stack is there, so that a norm is missed: any of its layers, or the tower that it closes.

    A norm at the root closes no tower: any other row of its stack, or a model inside it, tells.
    """
    name = fill(promise.name, {index: value for index, value in indexes.items() if index != "layer"})
    before, layer, _ = name.partition("{layer}.")
    if layer or "." in name:
        return reading.has(before if layer else f"{name.partition('.')[0]}.", rooted=promise.rooted)
    others = [row.name for row in reading.promises() if row.stack == promise.stack and row.gain != "none"]
    towers = {f"{other.partition('{')[0].rpartition('.')[0]}." for other in others if "." in other.partition("{")[0]}
    towers |= {prefix for part in reading.family.parts if part.stack == promise.stack for prefix in part.prefixes}
    return any(reading.has(tower) for tower in towers if tower)


def _lost(promise: Promise, indexes: Mapping[str, int], reading: Reading) -> bool:
    """Whether nothing at all is there of the layer that a norm belongs to, though the config counts it."""
    before, layer, _ = promise.name.partition("{layer}.")
    if not layer or promise.layers is None or promise.first is not None:  # next-token blocks may be left out
        return False
    return not reading.has(fill(before + layer, indexes), rooted=promise.rooted)


def _is_main(promise: Promise, reading: Reading) -> bool:
    """Of the model itself and not of a tower inside it: an encoder is half of its model, wherever recordings are made."""
    main, stack = reading.family.main, reading.stack or promise.stack
    return reading.main and (not main or stack in main or stack == "encoder")


def _absent_stacks(reading: Reading) -> Mapping[str | None, str]:
    """Stacks of the model itself of which no tensor is there, beside others that are: an encoder saved alone."""
    names: dict[str | None, list[str]] = {}
    for promise in reading.promises():
        if not promise.rooted and promise.gain != "none" and _is_main(promise, reading):
            names.setdefault(promise.stack, []).append(promise.name.partition("{")[0])
    roots = {stack: _common(of) for stack, of in names.items()}
    absent = {stack: root for stack, root in roots.items() if root and not reading.has(f"{root}.")}
    return absent if len(absent) < len(roots) else {}


def _common(names: Sequence[str]) -> str:
    """The dotted words that all names begin with, the last word of each left out."""
    words = zip(*(name.split(".")[:-1] for name in names), strict=False)
    return ".".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, words))


def _norm(
    promise: Promise, indexes: Mapping[str, int], reading: Reading, epsilon: Epsilon, checkpoint: Checkpoint
) -> Norm:
    bare, spelt = fill(promise.name, indexes), reading.spelling
    if promise.rooted:
        spelt = replace(spelt, prefix="", prefixes=("",))
    promised = promise.tensors(bare)
    found = [None if name is None else spelt.find(name) for name in promised]
    gain, bias = (None if each is None else each[0] for each in found)
    misnamed = tuple((each[0], each[1]) for each in found if each is not None and each[1] is not None)
    copies = [
        (taken, other)
        for taken, name in ((gain, promised[0]), (bias, promised[1]))
        if taken is not None and name is not None
        for other in spelt.copies(name, taken)
    ]
    names = spelt.view.names
    offset = promise.weight_offset if names is None or names.weight_offset is None else names.weight_offset
    width = _width(promise, indexes, reading, spelt, checkpoint)
    return Norm(
        name=spelt.module(bare, (gain, bias)),
        promised=bare,
        pattern=promise.name,
        role=promise.role,
        stack=reading.stack or promise.stack,
        main=_is_main(promise, reading),
        layer=indexes.get("layer"),
        kind=promise.kind,
        gain=gain,
        bias=bias,
        width=width.value,
        width_source=width.where,
        split=_split(promise, reading),
        eps=epsilon.value,
        eps_origin=epsilon.origin,
        eps_source=epsilon.source,
        eps_places=epsilon.places,
        weight_offset=offset,
        chain=promise.chain,
        bias_optional=promise.bias == "optional",
        misnamed=misnamed,
        copies=tuple(copies),
    )


def _width(
    promise: Promise, indexes: Mapping[str, int], reading: Reading, spelt: Spelling, checkpoint: Checkpoint
) -> Resolved:
    """The width by the config's keys, else by the tensor beside the norm that has it too."""
    if promise.shape or promise.like is None:
        return product(promise.shape, reading.sizes) if promise.shape else Resolved(None, "the family does not say")
    name, _ = spelt.find(fill(promise.like.tensor, indexes))
    info = checkpoint.tensors.get(name)
    if info is None or len(info.shape) <= promise.like.axis:
        return Resolved(None, f"no {name} to read it from")
    return Resolved(info.shape[promise.like.axis], f"axis {promise.like.axis} of {name}")


def _split(promise: Promise, reading: Reading) -> tuple[int, ...]:
    """The factors of the width, where there are several: Cohere stores a gain for each head as [heads, head_dim]."""
    values = [each if isinstance(each, int) else reading.sizes[each].value for each in promise.shape]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) > 1 else ()


def held_to(norms: Sequence[Norm], demand: Demand) -> tuple[Norm, ...]:
    """The norms with the caller's kind and offset, for all that are alike: those built like the final norm."""
    final = next((norm for norm in reversed(norms) if norm.role == "final" and norm.main), None)
    alike = (final or norms[-1]).kind if norms else None
    offset = (final or norms[-1]).weight_offset if norms else None
    return tuple(
        replace(
            norm,
            kind=demand.kind if demand.kind is not None and norm.kind == alike else norm.kind,
            weight_offset=demand.offset
            if demand.offset is not None and norm.weight_offset == offset
            else norm.weight_offset,
        )
        for norm in norms
    )


def _written(norm: Norm) -> tuple[Place, ...]:
    """Where its epsilon stands; one that is fixed in the model's code counts, for a graph that computes another one."""
    if norm.eps_places or norm.eps is None or norm.eps_origin != "code":
        return norm.eps_places
    return (Place(norm.eps_source, norm.eps),)


def at_sites(norms: Sequence[Norm], checkpoint: Checkpoint) -> tuple[Norm, ...]:
    """The norms with the epsilons that the container's own graph uses for each, as more places that write it."""
    places: dict[str, list[Place]] = {}
    for site in checkpoint.norm_sites:
        if site.gain is not None and site.eps is not None:  # branches of a condition may differ: all of them count
            places.setdefault(site.gain, []).append(Place(site.eps_where, site.eps))
    if not any(
        norm.tensors for norm in norms
    ):  # nothing tells which site is which norm, so that all are held to one epsilon
        every = [(site.kind, Place(site.eps_where, site.eps)) for site in checkpoint.norm_sites if site.eps is not None]
        return tuple(
            replace(norm, eps_places=(*_written(norm), *(place for kind, place in every if kind == norm.kind)))
            for norm in norms
        )
    return tuple(replace(norm, eps_places=(*norm.eps_places, *places.get(norm.gain or "", ()))) for norm in norms)
