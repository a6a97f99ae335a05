"""From a family's table and a model's config to the norms that this checkpoint must hold: the only code that families need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Norm, Place
from ln_audit.errors import FamilyError, UsageError
from ln_audit.families.sizes import Resolved, resolve
from ln_audit.families.spelling import Spelling, spelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ln_audit.demand import Demand
    from ln_audit.families.schema import Family, Promise
    from ln_audit.formats.config import Config

_MOST_LAYERS = 4_096  # a config may not make us build more; the deepest models that were ever trained have about 1,000


@dataclass(frozen=True, slots=True)
class Epsilon:
    """The epsilon in force, where it came from, and every place it is written."""

    value: float | None
    source: str
    places: tuple[Place, ...]


def contract(family: Family, config: Config | None, checkpoint: Checkpoint, demand: Demand) -> tuple[Norm, ...]:
    """Every norm that the family promises for this model, final norms last as in the table.

    Raises `FamilyError` when the config's sizes are no sizes.
    """
    tensors = frozenset(checkpoint.tensors)
    spelt = spelling(_probe(family), family.prefixes, tensors)
    sizes = resolve(family, config, checkpoint, spelt)
    epsilon = find_epsilon(family, config, demand)
    norms = []
    for promise in family.norms:
        if not all(
            condition.holds(None if config is None else config.get(condition.key)) for condition in promise.when
        ):
            continue
        norms += [_norm(promise, layer, sizes, epsilon, spelt, demand) for layer in _layers(promise, sizes)]
    return tuple(norms)


def _probe(family: Family) -> list[str]:
    """Names to tell the spelling by: those of the first layer, and those without a layer."""
    return [promise.name.replace("{layer}", "0") + ".weight" for promise in family.norms] + list(family.recognised_by)


def _layers(promise: Promise, sizes: Mapping[str, Resolved]) -> Iterator[int | None]:
    if promise.layers is None:
        yield None
        return
    depth = sizes[promise.layers]
    if (depth.value or 0) > _MOST_LAYERS:
        raise FamilyError(f"{depth.where}: expected at most {_MOST_LAYERS:,} layers, found {depth.value:,}")
    yield from range(depth.value or 0)


def _norm(
    promise: Promise,
    layer: int | None,
    sizes: Mapping[str, Resolved],
    epsilon: Epsilon,
    spelt: Spelling,
    demand: Demand,
) -> Norm:
    bare = promise.name if layer is None else promise.name.replace("{layer}", str(layer))
    width = sizes[promise.shape[0]]
    gain, bias, misnamed = _tensors(promise, bare, spelt)
    return Norm(
        name=spelt.prefix + bare,
        role=promise.role,
        stack=promise.stack,
        layer=layer,
        kind=demand.kind or promise.kind,
        gain=gain,
        bias=bias,
        width=width.value,
        width_source=width.where,
        eps=epsilon.value,
        eps_source=epsilon.source,
        eps_places=epsilon.places,
        weight_offset=promise.weight_offset if demand.offset is None else demand.offset,
        chain=promise.chain,
        bias_optional=promise.bias == "optional",
        misnamed=misnamed,
    )


def _tensors(
    promise: Promise, bare: str, spelt: Spelling
) -> tuple[str | None, str | None, tuple[tuple[str, str], ...]]:
    """The gain's and the bias's names in this checkpoint, and which of them are misspelt."""
    found: dict[str, str | None] = {"weight": None, "bias": None}
    misnamed = []
    for leaf, wanted in (("weight", promise.gain), ("bias", promise.bias)):
        if wanted == "none":
            continue
        name, expected = spelt.find(f"{bare}.{leaf}")
        found[leaf] = name
        if expected is not None:
            misnamed.append((name, expected))
    return found["weight"], found["bias"], tuple(misnamed)


def find_epsilon(family: Family, config: Config | None, demand: Demand) -> Epsilon:
    """The caller's epsilon if given, else the config's, else the loader's default; unknown is None, never a guess."""
    written = []
    for key in family.epsilon.keys if config is not None else ():
        value = config.get(key) if config is not None else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            written.append(Place(f"{config.where}: {key}" if config is not None else key, float(value)))
    if demand.eps is not None:
        return Epsilon(demand.eps, "given by the caller", (Place("--eps", demand.eps), *written))
    if written:
        return Epsilon(written[0].value, written[0].where, tuple(written))
    default = family.epsilon.default
    if config is None:
        return Epsilon(default, "assumed: the family's usual value, no config", ())
    for key in family.epsilon.keys:
        if config.get(key) is not None:
            return Epsilon(None, f"{config.where}: {key}: expected a number, found {str(config.get(key))[:40]!r}", ())
    return Epsilon(default, f"the loader's default, {config.where} has no {' or '.join(family.epsilon.keys)}", ())


def described(checkpoint: Checkpoint, demand: Demand) -> tuple[Norm, ...]:
    """The one norm that the caller describes where the family is unknown: --norm, --kind and --eps suffice.

    Raises `UsageError` when the name fits no tensor.
    """
    name = str(demand.norm)
    gain = next(
        (n for n in (f"{name}.weight", f"{name}.gamma", f"{name}.scale", name) if n in checkpoint.tensors), None
    )
    if gain is None:
        raise UsageError(f"--norm {name}: expected a norm of the checkpoint, found no tensor {name}.weight")
    bias = next((n for n in (f"{name}.bias", f"{name}.beta") if n in checkpoint.tensors), None)
    shape = checkpoint.tensors[gain].shape
    return (
        Norm(
            name=name,
            role="final",
            stack=None,
            layer=None,
            kind=str(demand.kind),
            gain=gain,
            bias=bias,
            width=shape[-1] if shape else None,
            width_source=f"the shape of {gain}, no family",
            eps=demand.eps,
            eps_source="given by the caller",
            eps_places=() if demand.eps is None else (Place("--eps", demand.eps),),
            weight_offset=demand.offset or 0.0,
        ),
    )
