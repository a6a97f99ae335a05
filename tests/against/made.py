"""Two sides made of a few arrays, for tests of what explains a difference."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from ln_audit.against.difference import Difference, Twins
from ln_audit.against.pairing import pairing
from ln_audit.against.side import Part, Side, held
from ln_audit.core import Checkpoint, Norm, Stored, TensorInfo

DTYPES = {
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16",
    np.dtype(np.float64): "F64",
}
BF16 = ml_dtypes.bfloat16
GAIN = np.linspace(0.6, 1.9, 8, dtype=np.float32) ** 2


def norm(name: str = "norm", layer: int | None = None, *, bias: bool = False, **changes: Any) -> Norm:
    made = Norm(
        name=name, promised=name, role="final" if layer is None else "block", stack="decoder", layer=layer, kind="rms_norm", gain=f"{name}.weight",
        bias=f"{name}.bias" if bias else None, width=8, width_source="config.json: d", eps=1e-5, eps_source="config.json: eps",
    )  # fmt: skip
    return replace(made, **changes)


def side(tensors: Mapping[str, np.ndarray], *norms: Norm, format_: str = "safetensors", **changes: Any) -> Side:
    values = {name: Stored(DTYPES[a.dtype], a.shape, a.tobytes()) for name, a in tensors.items()}
    infos = {name: TensorInfo(name, v.dtype, v.shape, len(v.data)) for name, v in values.items()}

    def beginning(name: str, count: int) -> bytes:
        return values[name].data[:count]

    checkpoint = Checkpoint(
        format_, ("model.safetensors",), infos, lambda names: {n: values[n] for n in names}, read_beginning=beginning
    )
    return replace(Side("/made", checkpoint, norms or (norm(),), values, "acme"), **changes)


def difference(artifact: np.ndarray, source: np.ndarray, *, part: Part = "gain", ours: Norm | None = None, theirs: Norm | None = None,
               config: Mapping[str, object] | None = None) -> Difference:  # fmt: skip
    """The same norm with these stored values on either side."""
    leaf = "weight" if part == "gain" else "bias"
    left, right = ours or norm(bias=part == "bias"), theirs or norm(bias=part == "bias")
    a, b = side({f"norm.{leaf}": artifact}, left, config=config or {}), side({f"norm.{leaf}": source}, right)
    paired = pairing(a, b)
    found = held(a, left, part), held(b, right, part)
    assert found[0] is not None
    assert found[1] is not None
    return Difference(paired.pairs[0], part, found[0], found[1], Twins(a, b, paired))
