"""Norms where the family is unknown: those that a graph computes, or the one that the caller describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.core import Checkpoint, Norm, Place
from ln_audit.errors import UsageError
from ln_audit.families.epsilon import any_epsilon

if TYPE_CHECKING:
    from ln_audit.demand import Demand
    from ln_audit.formats.config import Config


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
                eps_origin="written" if places else "unknown",
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
            eps_origin="written" if places else "unknown",
            eps_source=places[0].where if places else "nobody says it",
            eps_places=tuple(places),
            weight_offset=demand.offset or 0.0,
        ),
    )
