"""Recordings that fit, and what is asked of them, for the tests of resolving power."""

from __future__ import annotations

from typing import Any

import numpy as np

from ln_audit.comparison import Comparison
from ln_audit.diagnosis.hypothesis import Suspect
from ln_audit.numerics.compare import compare
from ln_audit.numerics.floats import FORMATS
from ln_audit.numerics.judge import Setting
from ln_audit.numerics.output_dtype import compute_format
from ln_audit.numerics.parameters import NormParameters, variants
from ln_audit.resolving_power.distance import Way
from ln_audit.resolving_power.resolve import resolve
from tests.numerics.runs import FLOAT32, ArrayRows, gain_and_bias, run


def norm(d: int, kind: str = "layer_norm", eps: float = 1e-5, **changes: Any) -> NormParameters:
    """A trained-looking norm of width d."""
    gain, bias = gain_and_bias(d)
    fields: dict[str, Any] = {"kind": kind, "gain": gain, "bias": bias, "eps": eps}
    return NormParameters(**(fields | changes))


def honest(x: np.ndarray, parameters: NormParameters, out: np.dtype = FLOAT32, chain: str = "once") -> np.ndarray:
    """What a correct run in float32 stores."""
    gain, bias = parameters.gain, parameters.bias
    return run(x, gain, bias, parameters.eps, kind=parameters.kind, out=out, chain=chain)


def compared(x: np.ndarray, after: np.ndarray, parameters: NormParameters, **given: Any) -> Comparison:
    """The comparison alone."""
    return compare(ArrayRows(x, after), parameters, norm="ln", recording="run", provenance="test", **given)


def resolved(x: np.ndarray, parameters: NormParameters, out: np.dtype = FLOAT32, **given: Any) -> Comparison:
    """A correct run of the norm, compared, with its resolving power."""
    after = honest(x, parameters, out)
    found = compared(x, after, parameters, output_dtype=str(out), **given)
    assert found.status == "pass"
    return resolve(found, ArrayRows(x, after), parameters)


def suspected(x: np.ndarray, parameters: NormParameters, out: str = "float32") -> tuple[Suspect, tuple[Way, ...]]:
    """What the hypotheses are asked about, and the honest ways."""
    output = FORMATS[out]
    setting = Setting(parameters.kind, parameters.eps, compute_format(output), output, declared=True)
    suspect = Suspect("ln", parameters, setting, ArrayRows(x, x))
    return suspect, tuple(Way(form, chain) for chain in suspect.chains for form in variants(parameters, output))


def names(entries: Any) -> set[str]:
    """The faults of `can_tell` or `cannot_tell`."""
    return {entry["name"] for entry in entries}
