"""Subjects made of a few arrays, for tests of single checks."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ln_audit.checks.subject import Subject
from ln_audit.core import Checkpoint, Norm, Place, Stored, TensorInfo
from ln_audit.demand import Demand
from ln_audit.families.reading import readings
from ln_audit.families.recognise import load
from ln_audit.formats.dtypes import decode

DTYPES = {"float32": "F32", "float64": "F64", "int8": "I8", "float16": "F16"}


def stored(array: np.ndarray) -> Stored:
    return Stored(DTYPES[str(array.dtype)], array.shape, array.tobytes())


def norm(name: str = "ln_f", **changes: object) -> Norm:
    fields: dict = {
        "name": name, "promised": name.removeprefix("transformer."), "role": "final", "stack": "decoder", "layer": None, "kind": "layer_norm", "gain": f"{name}.weight",
        "bias": f"{name}.bias", "width": 4, "width_source": "config.json: n_embd", "eps": 1e-5,
        "eps_source": "config.json: layer_norm_epsilon", "eps_places": (Place("config.json: layer_norm_epsilon", 1e-5),),
    }  # fmt: skip
    fields["pattern"] = re.sub(r"\.\d+\.", ".{layer}.", str(changes.get("promised", fields["promised"])))
    return Norm(**(fields | changes))


def subject(tensors: Mapping[str, np.ndarray], *norms: Norm, read: bool = True, **changes: object) -> Subject:
    values = {name: stored(np.asarray(array)) for name, array in tensors.items()}
    infos = {name: TensorInfo(name, value.dtype, value.shape, len(value.data)) for name, value in values.items()}
    checkpoint = Checkpoint(
        "safetensors", ("model.safetensors",), infos, lambda names: {name: values[name] for name in names}
    )
    fields: dict = {
        "identity": "/model", "revision": None, "checkpoint": checkpoint, "config": None, "family": load("gpt2"), "recognised": None,
        "norms": norms, "demand": Demand(), "values": values if read else {},
        "arrays": {name: decode(value) for name, value in values.items()} if read else {},
    }  # fmt: skip
    made = Subject(**(fields | changes))
    if made.family is None or made.readings:
        return made
    return replace(made, readings=readings(made.family, made.config, made.checkpoint))


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


WHOLE = {"ln_f.weight": floats(1.5, 1.25, 0.5, 2.0), "ln_f.bias": floats(0.25, -0.5, 0.0, 1.0)}


def found(check, of: Subject) -> list[tuple[str, str, str]]:
    """What a check says, as (status, subject, message or the reason of a skip)."""
    return [(f.status, f.subject, f.reason if f.status == "skip" else f.message) for f in check.check(of)]
