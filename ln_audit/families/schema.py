"""The shape of a family table: what a model family promises of its norms, as data. Nothing in it is evaluated.

A table is a TOML file (`families/data/*.toml`, or the caller's own). Shapes are config keys, conditions are lists of
`{key, op, value}` that must all hold, names are patterns over `{layer}`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from ln_audit.errors import FamilyError

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["final", "block", "embedding", "qk", "other"]
_OPERATIONS = ("eq", "ne", "in", "missing", "truthy")
_CHOICES: dict[str, tuple[str | None, ...]] = {
    "role": ("final", "block", "embedding", "qk", "other"),
    "gain": ("required", "none"),
    "bias": ("required", "optional", "none"),
    "kind": ("layer_norm", "rms_norm"),
    "chain": (None, "once", "before_gain"),  # as `numerics.cells.CHAINS`; not imported, tables need no numpy
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a config key; `op` is eq, ne, in, missing or truthy."""

    key: str
    op: str
    value: Any = None

    def holds(self, found: object) -> bool:
        """Whether the config's value (None when the key is absent) meets the condition."""
        match self.op:
            case "eq":
                return bool(found == self.value)
            case "ne":
                return bool(found != self.value)
            case "in":
                return found in self.value
            case "missing":
                return found is None
            case _:
                return bool(found)


@dataclass(frozen=True, slots=True)
class Size:
    """A number that shapes follow: a config key, its other spellings, its default, and what it is in the tensors."""

    key: str
    aliases: tuple[str, ...] = ()
    default: int | None = None
    tensor: str | None = None  # the axis of this tensor tells the size where there is no config
    axis: int = 0
    count: str | None = None  # or: the number of tensors that match this pattern


@dataclass(frozen=True, slots=True)
class Epsilon:
    """Where epsilon is written, and what the loader takes when the key is absent."""

    keys: tuple[str, ...]
    default: float | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """One norm, or one norm per layer, that the family promises."""

    name: str
    role: Role
    kind: str
    shape: tuple[str, ...]
    stack: str | None = "decoder"
    layers: str | None = None
    gain: Literal["required", "none"] = "required"
    bias: Literal["required", "optional", "none"] = "none"
    weight_offset: float = 0.0
    chain: str | None = None
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """All that one family promises, with the source of each fact in `source` and in the table's comments."""

    name: str
    title: str
    source: str
    norms: tuple[Promise, ...]
    sizes: Mapping[str, Size]
    epsilon: Epsilon
    model_types: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ("",)
    recognised_by: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    tied: tuple[tuple[str, ...], ...] = ()
    tied_key: str | None = None
    tied_default: bool = False


def parse(text: str, where: str) -> Family:
    """Read a family table. Raises `FamilyError` that names the file, the key, what was expected and what was found."""
    import tomllib

    try:
        table = tomllib.loads(text)
        return _family(table)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FamilyError(f"{where}: expected a TOML table, found a syntax error: {error}") from error
    except _TableError as error:
        raise FamilyError(f"{where}: {error}") from error


class _TableError(Exception):
    """A table that is TOML but no family; the message has no file name yet."""


def _family(table: dict[str, Any]) -> Family:
    rest = dict(table)
    norms = tuple(_promise(row, f"norm[{i}]") for i, row in enumerate(_typed(rest.pop("norm", []), list, "norm")))
    if not norms:
        raise _TableError("norm: expected at least one [[norm]], found none")
    sizes = {
        key: cast("Size", _build(Size, {"key": key, **_typed(row, dict, f"sizes.{key}")}, f"sizes.{key}"))
        for key, row in _typed(rest.pop("sizes", {}), dict, "sizes").items()
    }
    epsilon = cast("Epsilon", _build(Epsilon, _typed(rest.pop("epsilon", {"keys": []}), dict, "epsilon"), "epsilon"))
    rest["tied"] = tuple(tuple(names) for names in rest.get("tied", []))
    for promise in norms:
        unknown = [key for key in (*promise.shape, promise.layers) if key is not None and key not in sizes]
        if unknown:
            raise _TableError(f"norm {promise.name}: expected a key of [sizes], found {unknown[0]!r}")
    if rest.get("prefixes") == []:
        raise _TableError('prefixes: expected at least one, found none; without a prefix write [""]')
    named = {"title": rest.get("name", ""), "source": "given by the caller"} | rest
    return cast("Family", _build(Family, named | {"norms": norms, "sizes": sizes, "epsilon": epsilon}, "family"))


def _promise(row: Any, where: str) -> Promise:
    table = dict(_typed(row, dict, where))
    when = []
    for condition in _typed(table.pop("when", []), list, f"{where}.when"):
        built = cast("Condition", _build(Condition, _typed(condition, dict, f"{where}.when"), f"{where}.when"))
        if built.op not in _OPERATIONS:
            raise _TableError(f"{where}.when: expected one of {', '.join(_OPERATIONS)}, found {built.op!r}")
        when.append(built)
    promise = cast("Promise", _build(Promise, table | {"when": tuple(when)}, where))
    for key, allowed in _CHOICES.items():
        if getattr(promise, key) not in allowed:
            raise _TableError(
                f"{where}.{key}: expected one of {', '.join(filter(None, allowed))}, found {getattr(promise, key)!r}"
            )
    if len(promise.shape) != 1:
        raise _TableError(f"{where}.shape: expected one key of [sizes], found {list(promise.shape)}")
    if ("{layer}" in promise.name) != (promise.layers is not None):
        raise _TableError(
            f"{where}: expected {{layer}} in the name exactly when `layers` is given, found {promise.name!r}"
        )
    return promise


def _build(cls: type, table: Mapping[str, Any], where: str) -> object:
    """Make a frozen value of a table; unknown keys and missing ones are named."""
    known = {field.name: field for field in fields(cls)}
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise _TableError(f"{where}: expected one of {', '.join(sorted(known))}, found {unknown[0]!r}")
    ready = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        value: object = cls(**ready)
    except TypeError as error:  # a required key is missing: the message of the dataclass names it
        raise _TableError(f"{where}: {error}") from error
    for key, item in ready.items():
        _check_type(item, str(known[key].type), f"{where}.{key}")
    return value


def _check_type(item: object, annotation: str, where: str) -> None:
    if annotation == "tuple[str, ...]":
        if not isinstance(item, tuple) or not all(isinstance(part, str) for part in item):
            raise _TableError(f"{where}: expected a list of strings, found {item!r}")
        return
    scalars: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (float, int), "bool": (bool,)}
    wanted = scalars.get(annotation.removesuffix(" | None"))
    if wanted is None or item is None:
        return
    if not isinstance(item, wanted) or (bool not in wanted and isinstance(item, bool)):
        raise _TableError(f"{where}: expected {annotation}, found {item!r}")


def _typed(item: Any, wanted: type, where: str) -> Any:
    if not isinstance(item, wanted):
        raise _TableError(f"{where}: expected a TOML {wanted.__name__}, found {type(item).__name__}")
    return item
