"""A model in a container's own names and convention, not yet written: what a correct converter would make of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ln_audit.families.names_index import index, of_architecture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.core import Norm
    from scripts.source_faults.models import Array, Model

CONTAINERS = ("safetensors", "gguf", "bin", "onnx", "npz")
DTYPES: Mapping[str, Any] = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Held:
    """One norm of an artifact: what its parameters are called there, and what is added to the stored gain in the model."""

    norm: Norm  # as the Hub has it
    gain: str | None
    bias: str | None
    lacks: float
    eps: float | None = None  # that the graph of a container which has one computes with; None: it writes none


@dataclass(frozen=True)
class Artifact:
    """Everything that is written. `config` holds config.json's keys; a GGUF file states them under its own."""

    container: str
    model: Model
    config: Mapping[str, Any]
    tensors: Mapping[str, Array]
    held: tuple[Held, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)  # of GGUF, over what `config` becomes

    def with_tensors(self, changed: Mapping[str, Array | None]) -> Artifact:
        """With other values for some tensors, and without those that are None."""
        merged = {**self.tensors, **changed}
        return replace(self, tensors={name: array for name, array in merged.items() if array is not None})


def converted(model: Model, container: str, dtype: str = "F32", *, added: bool = False) -> Artifact:
    """The model in a container. `added`: an npz whose exporter added the family's 1 to the gains, as some do."""
    names = _gguf(model.spec.family) if container == "gguf" else None
    spelt: dict[str, str] = {}
    for name in model.tensors:
        theirs = name if names is None else names.theirs(name.removeprefix(model.spec.prefix))
        if theirs is not None:  # a converter drops what its format has no name for
            spelt[name] = theirs
    held = tuple(_held(norm, container, spelt, model, added=added) for norm in model.norms)
    shift = {each.norm.gain: each.norm.weight_offset - each.lacks for each in held}
    tensors = {
        theirs: (model.tensors[name] + np.float32(shift.get(name, 0))).astype(DTYPES[dtype])
        for name, theirs in spelt.items()
    }
    return Artifact(container, model, dict(model.config), tensors, held)


def architecture(family: str) -> str:
    """The GGUF architecture of a family."""
    return str(index()["families"]["gguf"][family])


def _gguf(family: str) -> Any:
    return of_architecture("gguf", architecture(family))


def _held(norm: Norm, container: str, spelt: Mapping[str, str], model: Model, *, added: bool) -> Held:
    gain, bias = (None if name is None else spelt[name] for name in (norm.gain, norm.bias))
    lacks = norm.weight_offset
    if container == "gguf":
        own = _gguf(model.spec.family).weight_offset
        lacks = lacks if own is None else own
    return Held(norm, gain, bias, 0.0 if added else lacks, norm.eps)
