"""The norm that a recording carries itself: its parameters, its kind and its epsilon, so that no model is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.core import Norm, Place
from ln_audit.errors import RecordingError

if TYPE_CHECKING:
    from ln_audit.core import Checkpoint
    from ln_audit.demand import Demand
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import Recording


def carried_norm(path: str, checkpoint: Checkpoint, demand: Demand) -> Norm:
    """The norm that a recording describes itself; --kind, --eps and --offset say what it leaves out, and hold it to that.

    Raises `RecordingError` when nobody says what the norm is.
    """
    from ln_audit.recording import open_recording

    recording = open_recording(path)
    kind, eps = demand.kind or recording.metadata.get("kind"), recording.metadata.get("eps")
    gain = checkpoint.tensors.get("gain")
    if gain is None or kind is None or (eps is None and demand.eps is None):
        lacks = "tensor gain" if gain is None else "kind" if kind is None else "eps"
        raise RecordingError(
            f"{path}: expected a recording with its own gain, kind and eps, found no {lacks}",
            hint="name the model that it was recorded from: ln-audit verify TARGET --recording FILE",
        )
    width = recording.rows(recording.norms[0]).width
    for name in ("gain", "bias"):
        info = checkpoint.tensors.get(name)
        if info is not None and (info.shape != (width,) or info.dtype not in ("F64", "F32", "BF16", "F16")):
            raise RecordingError(
                f"{path}: {name}: expected floats of shape [{width}], found {info.dtype} {list(info.shape)}"
            )
    stated = Place(f"{path}: eps", stated_epsilon(path, eps)) if eps is not None else None
    places = [Place("--eps", demand.eps)] if demand.eps is not None else []
    places += [] if stated is None else [stated]
    return Norm(
        name=recording.metadata.get("norm") or "norm",
        role="final",
        stack=None,
        layer=None,
        kind=kind,
        gain="gain",
        bias="bias" if "bias" in checkpoint.tensors else None,
        width=width,
        width_source="the width of before",
        eps=places[0].value,
        eps_origin="given" if demand.eps is not None else "written",
        eps_source=places[0].where,
        eps_places=tuple(places),
        weight_offset=demand.offset or 0.0,
    )


def carried_parameters(recording: Recording) -> NormParameters | None:
    """The parameters that a recording carries itself: gain, kind and eps; None when one of them is missing.

    Raises `RecordingError` when eps is no number.
    """
    from ln_audit.numerics.parameters import NormParameters

    gain, kind, eps = recording.array("gain"), recording.metadata.get("kind"), recording.metadata.get("eps")
    if gain is None or kind is None or eps is None:
        return None
    return NormParameters(kind, gain, recording.array("bias"), stated_epsilon(recording.name, eps))


def stated_epsilon(where: str, text: str) -> float:
    """The epsilon that a recording states as text. Raises `RecordingError` for no number."""
    try:
        return float(text)
    except ValueError as error:
        raise RecordingError(f"{where}: eps: expected a number, found {text[:40]!r}") from error
