"""From a family's table and a model's config to the norms that this checkpoint must hold: the only code that families need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Norm, Place
from ln_audit.errors import FamilyError, UsageError
from ln_audit.families import containers
from ln_audit.families.sizes import Resolved, resolve
from ln_audit.families.spelling import Spelling, spelling
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.demand import Demand
    from ln_audit.families.schema import Family, Promise
    from ln_audit.formats.config import Config

_MOST_LAYERS = 4_096  # a config may not make us build more; the deepest models that were ever trained have about 1,000


# Where configs of any family keep epsilon; read only where the family is unknown and a graph says which norms there are.
_EPSILON_KEYS = (
    "layer_norm_epsilon",
    "layer_norm_eps",
    "rms_norm_eps",
    "norm_eps",
    "norm_epsilon",
    "layernorm_epsilon",
    "text_config.rms_norm_eps",
)


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
    names = containers.view(checkpoint, family.name)
    strange = names.uncovered
    if strange and len(strange) == len(checkpoint.tensors):
        told = f"expected the names that {checkpoint.format} has for {family.name}, found {shown(strange[0])}"
        raise FamilyError(f"{checkpoint.files[0]}: {told}")
    lacking = containers.missing_size(checkpoint, family.name, family.sizes)
    if lacking is not None:
        raise FamilyError(f"{checkpoint.files[0]}: {lacking}: expected a number, found no such key")
    spelt = spelling(_probe(family), family.prefixes, names)
    stated = (
        containers.config(checkpoint, family.name) or config
    )  # a loader reads its container before anything beside it
    sizes = resolve(family, stated, checkpoint, spelt)
    epsilon = find_epsilon(family, config, checkpoint, demand)
    norms = []
    for promise in family.norms:
        if not all(
            condition.holds(None if stated is None else stated.get(condition.key)) for condition in promise.when
        ):
            continue
        norms += [_norm(promise, layer, sizes, epsilon, spelt, demand) for layer in _layers(promise, sizes)]
    return at_sites(norms, checkpoint)


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
    copies = [
        (taken, other)
        for taken, leaf in ((gain, "weight"), (bias, "bias"))
        if taken is not None
        for other in spelt.copies(f"{bare}.{leaf}", taken)
    ]
    offset = promise.weight_offset
    if spelt.view.names is not None and spelt.view.names.weight_offset is not None:
        offset = spelt.view.names.weight_offset
    return Norm(
        name=spelt.module(bare, (gain, bias)),
        promised=bare,
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
        weight_offset=offset if demand.offset is None else demand.offset,
        chain=promise.chain,
        bias_optional=promise.bias == "optional",
        misnamed=misnamed,
        copies=tuple(copies),
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


def find_epsilon(family: Family, config: Config | None, checkpoint: Checkpoint, demand: Demand) -> Epsilon:
    """The caller's epsilon if given, else the container's, else the config's, else the loader's default.

    Unknown is None, never a guess; every place that writes one is kept, so that a check can compare them.
    """
    sources = [found for found in (containers.config(checkpoint, family.name), config) if found is not None]
    keys = family.epsilon.keys
    written = [place for found in sources for key in keys if (place := _place(found, key)) is not None]
    if demand.eps is not None:
        return Epsilon(demand.eps, "given by the caller", (Place("--eps", demand.eps), *written))
    lacking = containers.missing_epsilon(checkpoint, family.name, keys)
    if lacking is not None:
        return Epsilon(None, f"{checkpoint.files[0]}: {lacking}: expected a number, found no such key", tuple(written))
    if written:
        return Epsilon(written[0].value, written[0].where, tuple(written))
    if not sources:
        return Epsilon(family.epsilon.default, "assumed: the family's usual value, no config", ())
    for found in sources:
        for key in keys:
            if found.has(key):
                return Epsilon(None, f"{found.where}: {key}: expected a number, found {shown(found.get(key))}", ())
    where = sources[0].where
    if containers.has_no_epsilon(checkpoint, family.name, keys) and config is None:
        return Epsilon(family.epsilon.default, f"fixed in the model's code, {where} does not hold it", ())
    others = [key for key in _EPSILON_KEYS if sources[0].has(key)]
    if others:
        where = f"{where} has {others[0]} and"
        return Epsilon(family.epsilon.default, f"the loader's default, {where} no {' or '.join(keys)}", ())
    return Epsilon(family.epsilon.default, f"the loader's default, {where} has no {' or '.join(keys)}", ())


def at_sites(norms: Sequence[Norm], checkpoint: Checkpoint) -> tuple[Norm, ...]:
    """The norms with the epsilons that the container's own graph uses for each, as more places that write it."""
    places: dict[str, list[Place]] = {}
    for site in checkpoint.norm_sites:
        if site.gain is not None and site.eps is not None:  # branches of a condition may differ: all of them count
            places.setdefault(site.gain, []).append(Place(site.eps_where, site.eps))
    return tuple(replace(norm, eps_places=(*norm.eps_places, *places.get(norm.gain or "", ()))) for norm in norms)


def any_epsilon(config: Config | None) -> list[Place]:
    """Every epsilon that a config of whatever family writes."""
    keys = _EPSILON_KEYS if config is not None else ()
    return [place for key in keys if config is not None and (place := _place(config, key)) is not None]


def _place(config: Config, key: str) -> Place | None:
    """A number that a config writes; one beyond float64 is infinite, and a check says so."""
    value = config.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return Place(f"{config.where}: {key}", float(value))
    except OverflowError:
        return Place(f"{config.where}: {key}", inf)


def by_graph(checkpoint: Checkpoint, config: Config | None, demand: Demand) -> tuple[Norm, ...]:
    """The norms of a container that computes them, where the family is unknown: as many as its graph has."""
    stated = [] if demand.eps is None else [Place("--eps", demand.eps)]
    stated += any_epsilon(config)
    norms = []
    for site in checkpoint.norm_sites:
        info = checkpoint.tensors.get(site.gain or "")
        places = (*stated, *([] if site.eps is None else [Place(site.eps_where, site.eps)]))
        norms.append(
            Norm(
                name=site.name,
                promised=site.name,
                role="other",
                stack=None,
                layer=None,
                kind=demand.kind or site.kind,
                gain=site.gain,
                bias=site.bias,
                width=None if info is None else info.elements,
                width_source=f"the shape of {site.gain}, no family",
                eps=places[0].value if places else None,
                eps_source=places[0].where if places else "the graph does not say",
                eps_places=places,
                weight_offset=demand.offset or 0.0,
            )
        )
    return tuple(norms)


def described(checkpoint: Checkpoint, config: Config | None, demand: Demand) -> tuple[Norm, ...]:
    """The one norm that the caller describes where the family is unknown: --norm, --kind and --eps suffice.

    Raises `UsageError` when the name fits no tensor.
    """
    name = str(demand.norm).removesuffix(".weight")
    tensors = checkpoint.tensors
    gain = next((n for n in (f"{name}.weight", f"{name}.gamma", f"{name}.scale", name) if n in tensors), None)
    if gain is None or name.endswith((".bias", ".beta")):
        raise UsageError(f"--norm {demand.norm}: expected a norm of the checkpoint, found no tensor {name}.weight")
    bias = next((n for n in (f"{name}.bias", f"{name}.beta") if n in tensors), None)
    shape = tensors[gain].shape
    places = ([] if demand.eps is None else [Place("--eps", demand.eps)]) + any_epsilon(config)
    return (
        Norm(
            name=name,
            promised=name,
            role="final",
            stack=None,
            layer=None,
            kind=str(demand.kind),
            gain=gain,
            bias=bias,
            width=shape[-1] if shape else None,
            width_source=f"the shape of {gain}, no family",
            eps=places[0].value if places else None,
            eps_source=places[0].where if places else "given by the caller",
            eps_places=tuple(places),
            weight_offset=demand.offset or 0.0,
        ),
    )
