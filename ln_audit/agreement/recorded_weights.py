"""Whether a recording is of the target's weights: by the digests of gain and bias that it states or that it holds."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    import numpy as np

    from ln_audit.core import Norm
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import Recording

_OF_ONE_NORM = (
    "kind",
    "eps",
    "output_dtype",
    "param_dtype",
    "compute_dtype",
    "before_rounded",
    "gain_value_sha256",
    "bias_value_sha256",
)


def other_weights(digests: Mapping[str, str], norm: Norm, parameters: NormParameters) -> str | None:
    """Why the recording is of other weights, by the digests it carries; None when it is not, or carries none."""
    for role, values, offset in (("gain", parameters.gain, norm.weight_offset), ("bias", parameters.bias, 0.0)):
        stated = digests.get(f"{role}_value_sha256")
        if not stated or values is None:
            continue
        honest = cast_digests(values, offset)
        if stated.lower() not in honest:
            return (
                f"{role}_value_sha256: expected {str(honest[0])[:12]}… ({norm.name} of the target), found {stated[:12]}…:"
                " recorded with other weights"
            )
    return None


def as_used(digests: Mapping[str, str], norm: Norm, parameters: NormParameters) -> NormParameters:
    """The parameters as the run held them: cast to a narrower dtype, where their digests prove that they were.

    Mamba cast to bfloat16 multiplies float32 rows with a bfloat16 gain, which the dtype of its output does not tell.
    """
    gain = _cast(parameters.gain, digests.get("gain_value_sha256"), norm.weight_offset)
    return replace(parameters, gain=gain, bias=_cast(parameters.bias, digests.get("bias_value_sha256"), 0.0))


def _cast(values: np.ndarray[Any, Any] | None, stated: str | None, offset: float) -> np.ndarray[Any, Any] | None:
    """The values in the narrow dtype whose digest is stated; as they are where that is their own, or nothing is."""
    from ln_audit.numerics.floats import FORMATS, float64
    from ln_audit.numerics.parameters import value_sha256

    if values is None or not stated or stated.lower() in (value_sha256(values, offset), value_sha256(values, 0.0)):
        return values
    import ml_dtypes
    import numpy as np

    for name, dtype in (("bfloat16", np.dtype(ml_dtypes.bfloat16)), ("float16", np.dtype(np.float16))):
        form = FORMATS[name].round(float64(values))
        if stated.lower() in (value_sha256(form, offset), value_sha256(form, 0.0)):
            return form.astype(dtype)
    return values


def facts(recording: Recording, norm: str) -> Mapping[str, str]:
    """What the metadata says of one norm: a key under `<norm>/` counts before the same key of the whole file."""
    own = {key: recording.metadata[f"{norm}/{key}"] for key in _OF_ONE_NORM if f"{norm}/{key}" in recording.metadata}
    return ChainMap(own, cast("MutableMapping[str, str]", recording.metadata))


def stated_digests(recording: Recording, norm: str = "") -> Mapping[str, str]:
    """The digests of gain and bias that a recording states of a norm, or those of the gain and bias that it holds."""
    from ln_audit.numerics.parameters import value_sha256

    said = facts(recording, norm)
    found = {key: said[key] for key in _OF_ONE_NORM if key.endswith("_value_sha256") and key in said}
    for role in ("gain", "bias"):
        values = None if f"{role}_value_sha256" in found else recording.array(role)
        digest = None if values is None else value_sha256(values, 0.0)
        if digest is not None:
            found[f"{role}_value_sha256"] = digest
    return found


def cast_digests(values: np.ndarray[Any, Any], offset: float) -> list[str | None]:
    """Digests of the values as stored and after the casts that an honest run makes (a model cast to a narrower dtype)."""
    from ln_audit.numerics.floats import FORMATS, float64
    from ln_audit.numerics.parameters import value_sha256

    narrow = [FORMATS[name].round(float64(values)) for name in ("bfloat16", "float16")]
    offsets = dict.fromkeys((offset, 0.0))  # a recording may hold the gain as stored or as used
    return [value_sha256(form, each) for each in offsets for form in (values, *narrow)]
