"""`ln-audit families`: which families are known, and what one of them promises, with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families import recognise
from ln_audit.formats.shown import number
from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ln_audit.families.schema import Condition, Epsilon, Family, Part, Promise, Size

_OPS = {"eq": "is", "ne": "is not", "in": "is one of", "contains": "contains"}


def known(own: Mapping[str, Family]) -> str:
    """Every family with the values of `model_type` that it is the table of; those of the policy first."""
    index = recognise.index()
    types: dict[str, list[str]] = {name: [] for name in index["families"]}
    for model_type, name in index["model_types"].items():
        types[name].append(model_type)
    types = {name: list(family.model_types) for name, family in own.items()} | types
    width = max(len(name) for name in types)
    lines = [f"{name:<{width}}  {', '.join(of) if of != [name] else ''}".rstrip() for name, of in types.items()]
    told = f"{len(types)} families, {len(index['model_types'])} values of model_type; ln-audit families NAME prints one"
    return "\n".join([*lines, "", told]) + "\n"


def promises(name: str, own: Mapping[str, Family]) -> str:
    """What one family promises: a family's name, a model_type of one, or a table of one's own. Raises `UsageError`."""
    family = recognise.given(name if name in own else recognise.index()["model_types"].get(name, name), own)
    lines = [f"{family.name}  {family.title}".rstrip(), *_facts(family), "", *_table(family)]
    return "\n".join(one_line(line) for line in lines) + "\n"


def _facts(family: Family) -> Iterator[str]:
    yield f"  source        {family.source}"
    yield f"  recognised    model_type {', '.join(family.model_types) or 'of none'}"
    if family.recognised_by:
        more = f" and {len(family.recognised_by) - 3} more" if len(family.recognised_by) > 3 else ""
        yield f"                or the names {', '.join(family.recognised_by[:3])}{more}"
    yield f"  prefixes      {', '.join(repr(prefix) for prefix in family.prefixes)}"
    for label, each in (("", family.epsilon), *((f" ({name})", each) for name, each in family.epsilons.items())):
        if each.keys or each.default is not None:
            yield f"  epsilon{label:<6} {_epsilon(each)}"
    for size in family.sizes.values():
        yield f"  {'size':<13} {_size(size)}"
    for part in family.parts:
        yield f"  {'part':<13} {_part(part)}"
    if family.main:
        yield f"  main stack    {', '.join(family.main)}"


def _epsilon(epsilon: Epsilon) -> str:
    default = "no default" if epsilon.default is None else number(epsilon.default)
    return (
        f"{' or '.join(epsilon.keys)}, {default} where the key is absent" if epsilon.keys else f"{default}, in the code"
    )


def _size(size: Size) -> str:
    name = " or ".join((size.key, *size.aliases)) if not size.computed else f"{size.key} (worked out)"
    over = f" / {' / '.join(map(str, size.over))}" if size.over else ""
    if size.product:
        return f"{name}, else {' × '.join(map(str, size.product))}{over}"
    return name if size.default is None else f"{name}, {size.default:,} where the key is absent"


def _part(part: Part) -> str:
    default = f", {part.default} where it says none" if part.default else ""
    return f"{part.prefixes[0]}*: the family of {part.config}.model_type{default}"


def _table(family: Family) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("norm", "role", "kind", "width", "gain", "bias", "there")]
    rows += [_row(promise) for promise in family.norms]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(promise: Promise) -> tuple[str, ...]:
    gain = (
        "none"
        if promise.gain == "none"
        else f"stored + {promise.weight_offset:g}"
        if promise.weight_offset
        else "stored"
    )
    role = promise.role if promise.stack in (None, "decoder") else f"{promise.stack} {promise.role}"
    return (promise.name, role, promise.kind, _shape(promise), gain, promise.bias, _presence(promise))


def _shape(promise: Promise) -> str:
    if promise.shape:
        return " × ".join(map(str, promise.shape))
    return "" if promise.like is None else f"axis {promise.like.axis} of {promise.like.tensor}"


def _presence(promise: Promise) -> str:
    told = [] if promise.layers is None else [f"for each of {promise.layers}"]
    told += [f"{index} of {key}" for index, key in promise.counts.items()]
    told += [] if promise.beside is None else [f"beside {promise.beside}*"]
    return ", ".join([*told, *_conditions(promise.when)])


def _conditions(when: Iterable[Condition]) -> Iterator[str]:
    for each in when:
        default = "" if each.default is None else f" (default {each.default})"
        if each.op in _OPS:
            yield f"if {each.key} {_OPS[each.op]} {each.value}{default}"
        else:
            yield f"if {each.key} is {'absent' if each.op == 'missing' else 'set'}{default}"
