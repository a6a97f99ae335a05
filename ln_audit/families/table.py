"""Read a family table: strictly, with errors that name the file, the key, what was expected and what was found."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from ln_audit.errors import FamilyError
from ln_audit.families import bounds
from ln_audit.families.bounds import TableError
from ln_audit.families.schema import CHOICES, OPERATIONS, Condition, Epsilon, Family, Neighbour, Part, Promise, Size
from ln_audit.formats import bounded_toml
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_NORMS, _MOST_PARTS, _MOST_SIZES = 256, 16, 64  # no family of ours has a third of that


def parse(text: str, where: str) -> Family:
    """Read a family table. Raises `FamilyError` that names the file, the key, what was expected and what was found."""
    try:
        table = bounded_toml.loads(text)
    except bounded_toml.TomlError as error:
        raise FamilyError(f"{where}: expected a TOML table, found a syntax error: {error}") from error
    return build(table, where)


def build(table: Mapping[str, Any], where: str) -> Family:
    """A family of a table that is parsed already. Raises `FamilyError`."""
    try:
        return made(table)
    except TableError as error:
        raise FamilyError(f"{where}: {error}") from error


def made(table: Mapping[str, Any]) -> Family:
    """The same for a table inside a file (`[family.acme]` of a policy). Raises `TableError`, which says at which key."""
    return _family(dict(table))


def _family(rest: dict[str, Any]) -> Family:
    for field in ("norms", "parts"):  # what the tables are called here, and nowhere in a file
        if field in rest:
            raise TableError(f"{field}: expected [[{field[:-1]}]], found {shown(field)}")
    rows = _some(rest.pop("norm", []), list, "norm", _MOST_NORMS)
    norms = tuple(_promise(row, f"norm[{i}]") for i, row in enumerate(rows))
    rows = _some(rest.pop("part", []), list, "part", _MOST_PARTS)
    parts = tuple(_part(row, f"part[{i}]") for i, row in enumerate(rows))
    if not norms and not parts:
        raise TableError("norm: expected at least one [[norm]], found none")
    sizes = {key: _size(key, row) for key, row in _some(rest.pop("sizes", {}), dict, "sizes", _MOST_SIZES).items()}
    epsilon = _epsilon(rest.pop("epsilon", {}), "epsilon")
    named_epsilons = _some(rest.pop("epsilons", {}), dict, "epsilons", _MOST_SIZES).items()
    epsilons = {name: _epsilon(row, f"epsilons.{name}") for name, row in named_epsilons}
    groups = rest.get("tied", [])
    rest["tied"] = (
        [tuple(each) if isinstance(each, list) else each for each in groups] if isinstance(groups, list) else groups
    )
    _closed(norms, sizes, epsilons)
    if rest.get("prefixes") == []:
        raise TableError('prefixes: expected at least one, found none; without a prefix write [""]')
    named = {"title": rest.get("name", ""), "source": "given by the caller"} | rest
    made = {"norms": norms, "parts": parts, "sizes": sizes, "epsilon": epsilon, "epsilons": epsilons}
    family = cast("Family", _build(Family, named | made, "family"))
    bounds.family(family)
    return family


def _closed(norms: tuple[Promise, ...], sizes: Mapping[str, Size], epsilons: Mapping[str, Epsilon]) -> None:
    """Every name that a row uses is defined in the table."""
    used = [
        (f"norm {norm.name}", key)
        for norm in norms
        for key in (*norm.shape, norm.layers, norm.first, *norm.counts.values())
    ]
    used += [(f"sizes.{size.key}", key) for size in sizes.values() for key in (*size.product, *size.over)]
    for where, key in used:
        if isinstance(key, str) and key not in sizes:
            raise TableError(f"{where}: expected a key of [sizes], found {shown(key)}")
    for norm in norms:
        if norm.epsilon is not None and norm.epsilon not in epsilons:
            raise TableError(f"norm {norm.name}: epsilon: expected a key of [epsilons], found {shown(norm.epsilon)}")


def _size(key: str, row: Any) -> Size:
    where = f"sizes.{key}"
    if "key" in _typed(row, dict, where):
        raise TableError(f"{where}.key: expected no such key, found {shown(row['key'])}")
    size = cast("Size", _build(Size, {"key": key, **_typed(row, dict, where)}, where))
    bounds.size(size, where)
    return size


def _epsilon(row: Any, where: str) -> Epsilon:
    epsilon = cast("Epsilon", _build(Epsilon, _typed(row, dict, where), where))
    if epsilon.null not in (None, "machine"):
        raise TableError(f"{where}.null: expected machine, found {shown(epsilon.null)}")
    bounds.number(epsilon.default, 0, bounds.LARGEST, f"{where}.default")
    return epsilon


def _part(row: Any, where: str) -> Part:
    table = dict(_typed(row, dict, where))
    part = cast("Part", _build(Part, table | {"when": _conditions(table, where)}, where))
    if not part.prefixes:
        raise TableError(f"{where}.prefixes: expected at least one, found none")
    bounds.prefixes(part.prefixes, f"{where}.prefixes")
    return part


def _conditions(table: dict[str, Any], where: str) -> tuple[Condition, ...]:
    when = []
    for row in _typed(table.pop("when", []), list, f"{where}.when"):
        built = cast("Condition", _build(Condition, _typed(row, dict, f"{where}.when"), f"{where}.when"))
        if built.op not in OPERATIONS:
            raise TableError(f"{where}.when: expected one of {', '.join(OPERATIONS)}, found {shown(built.op)}")
        if built.op == "in" and not isinstance(built.value, tuple):
            raise TableError(f"{where}.when: value: expected a list, found {shown(built.value)}")
        bounds.plain(built.value, f"{where}.when: value")
        bounds.plain(built.default, f"{where}.when: default")
        when.append(built)
    return tuple(when)


def _promise(row: Any, where: str) -> Promise:
    table = dict(_typed(row, dict, where))
    table["when"] = _conditions(table, where)
    if "like" in table:
        table["like"] = _build(Neighbour, _typed(table["like"], dict, f"{where}.like"), f"{where}.like")
    promise = cast("Promise", _build(Promise, table, where))
    for key, allowed in CHOICES.items():
        if getattr(promise, key) not in allowed:
            raise TableError(
                f"{where}.{key}: expected one of {', '.join(filter(None, allowed))}, found {shown(getattr(promise, key))}"
            )
    if not promise.shape and promise.like is None and promise.gain == "required":
        raise TableError(f"{where}.shape: expected one key of [sizes] or more, found none")
    bounds.promise(promise, where)
    counted = set(promise.counts) | ({"layer"} if promise.layers is not None else set())
    if counted - set(promise.indexes):
        raise TableError(
            f"{where}: expected {{{min(counted - set(promise.indexes))}}} in the name, which is counted, found {shown(promise.name)}"
        )
    if set(promise.indexes) - counted and promise.beside is None:
        open_ = next(index for index in promise.indexes if index not in counted)
        raise TableError(f"{where}: expected `layers`, `counts` or `beside` to tell {{{open_}}}, found none")
    return promise


def _build(cls: type, table: Mapping[str, Any], where: str) -> object:
    """Make a frozen value of a table; unknown keys and missing ones are named."""
    known = {field.name: field for field in fields(cls)}
    unknown = sorted(set(table) - set(known))
    if unknown:
        told = f"{where}: expected one of {', '.join(sorted(known))}, found {shown(unknown[0])}"
        raise TableError(told, f"{where}.{unknown[0]}")
    ready = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        value: object = cls(**ready)
    except TypeError as error:  # a required key is missing: the message of the dataclass names it
        raise TableError(f"{where}: {error}") from error
    for key, item in ready.items():
        _check_type(item, str(known[key].type), f"{where}.{key}")
    return value


_STRINGS = "tuple[str, ...]"
_LISTS: dict[str, tuple[tuple[type, ...], str]] = {
    _STRINGS: ((str,), "a list of strings"),
    "tuple[str | int, ...]": ((str, int), "a list of strings and whole numbers"),
    "tuple[tuple[str, ...], ...]": ((tuple,), "a list of lists of strings"),
}


def _check_type(item: object, annotation: str, where: str) -> None:
    if annotation in _LISTS:
        kinds, told = _LISTS[annotation]
        if not isinstance(item, tuple) or not all(
            isinstance(part, kinds) and not isinstance(part, bool) for part in item
        ):
            raise TableError(f"{where}: expected {told}, found {shown(item)}")
        if len(item) > bounds.LONGEST:
            raise TableError(f"{where}: expected at most {bounds.LONGEST:,} items, found {len(item):,}")
        for group in item if kinds == (tuple,) else ():
            _check_type(group, _STRINGS, where)
        return
    if annotation == "Mapping[str, str]":
        if not isinstance(item, dict) or not all(isinstance(part, str) for part in item.values()):
            raise TableError(f"{where}: expected a table of strings, found {shown(item)}")
        return
    scalars: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (float, int), "bool": (bool,)}
    wanted = scalars.get(annotation.removesuffix(" | None"))
    if wanted is None or item is None:
        return
    if not isinstance(item, wanted) or (bool not in wanted and isinstance(item, bool)):
        raise TableError(f"{where}: expected {annotation}, found {shown(item)}")


def _typed(item: Any, wanted: type, where: str) -> Any:
    if not isinstance(item, wanted):
        raise TableError(f"{where}: expected a TOML {wanted.__name__}, found {type(item).__name__}")
    return item


def _some(item: Any, wanted: type, where: str, most: int) -> Any:
    if len(_typed(item, wanted, where)) > most:
        raise TableError(f"{where}: expected at most {most}, found {len(item):,}")
    return item
