"""Which epsilon a norm runs with: the caller's, else the container's, else the config's, else the loader's default."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import Checkpoint, Place
from ln_audit.families import containers
from ln_audit.formats.shown import number, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.core import Norm, Origin
    from ln_audit.demand import Demand
    from ln_audit.families import schema
    from ln_audit.formats.config import Config

# Where configs of any family keep epsilon; read only where the family is unknown and a graph says which norms there are.
KEYS = (
    "layer_norm_epsilon",
    "layer_norm_eps",
    "rms_norm_eps",
    "norm_eps",
    "norm_epsilon",
    "layernorm_epsilon",
    "text_config.rms_norm_eps",
)


class Epsilon(NamedTuple):
    """The epsilon in force, where it came from, and every place it is written."""

    value: float | None
    origin: Origin
    source: str
    places: tuple[Place, ...] = ()


def find_epsilon(
    promised: schema.Epsilon, family: str, config: Config | None, checkpoint: Checkpoint, demand: Demand
) -> Epsilon:
    """The epsilon that the family `family` promises as `promised`, in this checkpoint.

    Unknown is None, never a guess; every place that writes one is kept, so that a check can compare them.
    """
    sources = [found for found in (containers.config(checkpoint, family), config) if found is not None]
    keys, default = promised.keys, promised.default
    written = tuple(place for found in sources for key in keys if (place := _place(found, key)) is not None)
    if demand.eps is not None:
        stated = None if written else _no_number(promised, sources)
        if stated is not None and stated.origin == "wrong":  # whatever the caller says
            return stated
        return Epsilon(demand.eps, "given", "given by the caller", (Place("--eps", demand.eps), *written))
    lacking = containers.missing_epsilon(checkpoint, family, keys)
    if lacking is not None:
        told = f"{checkpoint.files[0]}: {lacking}: expected a number, found no such key"
        return Epsilon(None, "wrong", told, written)
    if written:
        return Epsilon(written[0].value, "written", written[0].where, written)
    if not keys:
        return _in_code(default, containers.stated_epsilon(checkpoint, family), checkpoint.files[0])
    if not sources:
        return Epsilon(default, "assumed", "assumed: the family's usual value, no config")
    return _unwritten(promised, sources, containers.has_no_epsilon(checkpoint, family, keys) and config is None)


def _in_code(default: float | None, stated: tuple[str, object] | None, file: str) -> Epsilon:
    """One that no config writes. A container may (GGUF does, always): its loader takes that, and both must agree."""
    if stated is None:
        return Epsilon(default, "code", "fixed in the model's code")
    key, value = stated
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return Epsilon(None, "wrong", f"{file}: {key}: expected a number, found {shown(value)}")
    code = () if default is None else (Place("the model's code", default),)
    return Epsilon(float(value), "written", f"{file}: {key}", (*code, Place(f"{file}: {key}", float(value))))


def _unwritten(promised: schema.Epsilon, sources: Sequence[Config], never: bool) -> Epsilon:
    """What is in force where no config writes a number; `never`: this kind of config holds none."""
    stated = _no_number(promised, sources)
    if stated is not None:
        return stated
    if never:
        return Epsilon(promised.default, "code", f"fixed in the model's code, {sources[0].where} does not hold it")
    return Epsilon(promised.default, "default", _absent(sources[0], promised.keys))


def _no_number(promised: schema.Epsilon, sources: Sequence[Config]) -> Epsilon | None:
    """What a config writes that is no number: nothing anybody can use, or a null that means something. None where none does."""
    for found in sources:
        for key in promised.keys:
            if not found.has(key):
                continue
            if found.get(key) is None and promised.null == "machine":
                told = f"{found.at(key)} is null: the machine epsilon of whatever dtype the input has"
                return Epsilon(None, "machine", told)
            return Epsilon(None, "wrong", f"{found.at(key)}: expected a number, found {shown(found.get(key))}")
    return None


def _absent(config: Config, keys: Sequence[str]) -> str:
    """That the loader takes its default, and which other family's key stands there instead."""
    other = next((key for key in KEYS if config.has(key)), None)
    if other is not None:
        return f"the loader's default, {config.where} has {other} and no {' or '.join(keys)}"
    return f"the loader's default, {config.where} has no {' or '.join(keys)}"


def any_epsilon(config: Config | None) -> list[Place]:
    """Every epsilon that a config of whatever family writes."""
    keys = KEYS if config is not None else ()
    return [place for key in keys if config is not None and (place := _place(config, key)) is not None]


def _place(config: Config, key: str) -> Place | None:
    """A number that a config writes; one beyond float64 is infinite, and a check says so."""
    value = config.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return Place(config.at(key), float(value))
    except OverflowError:
        return Place(config.at(key), inf)


def mended(norm: Norm, value: float) -> str:
    """What to change, and where, for a norm to run with `value`."""
    where, _, key = norm.eps_source.rpartition(": ")
    if norm.eps_origin == "written" and where:
        return f"set {key} to {number(value)} in {where}, or convert again"
    if norm.eps_origin == "default":
        return f"write {number(value)} into the config under that key"
    return "the caller says so" if norm.eps_origin == "given" else "no file holds it, so none can be changed"
