"""Writing what is audited: the saved folder with some tensors or config keys changed, and recordings of its norms."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from scripts.recording_file import value_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scripts.family_faults.recorded import RecordedModel, RecordedNorm, Rows

REMOVED = object()  # a config key that is taken out
RECORDINGS = ("no recording", "float32", "bfloat16", "float32 with digests")


@dataclass(frozen=True)
class Planted:
    """One fault as changes to what is audited; whatever is not mentioned stays healthy.

    `rows` and `metadata` take the place of the recording's own, `told` of the norm whose recording is made.
    """

    tensors: Mapping[str, np.ndarray[Any, Any] | None] = field(default_factory=dict)  # None: deleted
    config: Mapping[str, object] = field(default_factory=dict)  # by dotted key
    rows: Mapping[str, Rows] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    recorded: RecordedNorm | None = None


def write_model(model: RecordedModel, planted: Planted, folder: Path) -> None:
    """The model with the fault in it, as one safetensors file and its config."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    if planted.tensors:
        changed = {**model.tensors, **planted.tensors}
        tensors = {name: np.ascontiguousarray(array) for name, array in changed.items() if array is not None}
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    else:
        (folder / "model.safetensors").hardlink_to(model.folder / "model.safetensors")
    config = json.loads(json.dumps(model.config))
    for key, value in planted.config.items():
        *path, last = key.split(".")
        inner = config
        for name in path:
            inner = inner[name]
        if value is REMOVED:
            del inner[last]
        else:
            inner[last] = value
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def write_recording(model: RecordedModel, norm: RecordedNorm, planted: Planted, kind: str, path: Path) -> None:
    """A recording of `norm`, of a run in the dtype that `kind` begins with, and with digests if it ends so.

    With digests too where a narrow model adds up in float32: there the rows do not tell in which dtype the gain was.
    """
    from safetensors.numpy import save_file

    dtype = kind.split(maxsplit=1)[0]
    rows = (planted.rows or norm.rows)[dtype]
    metadata: dict[str, str] = {}
    if kind.endswith("with digests"):
        metadata = metadata_of(model, norm) | digests_of(model, norm, np.dtype("float32"))
    elif dtype != "float32" and rows.after.dtype == np.float32:
        import ml_dtypes

        metadata = digests_of(model, norm, np.dtype(ml_dtypes.bfloat16))
    save_file({"before": rows.before, "after": rows.after}, path, {**metadata, **planted.metadata})


def metadata_of(model: RecordedModel, norm: RecordedNorm) -> dict[str, str]:
    """What a careful recorder writes beside the rows."""
    stated = {"ln_audit.recording": "1", "model": model.model_type}
    if norm.kind is not None:
        stated["kind"] = norm.kind
    if norm.eps is not None:
        stated["eps"] = repr(norm.eps)
    return stated


def digests_of(model: RecordedModel, norm: RecordedNorm, dtype: np.dtype[Any]) -> dict[str, str]:
    """Digests of the gain and bias that a run in `dtype` used: cast, and the offset added."""
    stated = {}
    if norm.gain is not None:
        cast = model.tensors[norm.gain].astype(dtype).astype(np.float32)
        stated["gain_value_sha256"] = value_sha256(cast + np.float32(norm.offset))
    if norm.bias is not None:
        stated["bias_value_sha256"] = value_sha256(model.tensors[norm.bias].astype(dtype).astype(np.float32))
    return stated
