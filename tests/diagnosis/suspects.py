"""A small norm, a recording of it, and what a hypothesis says of the two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ln_audit import diagnosis
from ln_audit.diagnosis.hypothesis import Batch, Suspect
from ln_audit.diagnosis.search import search
from ln_audit.numerics.floats import FORMATS, float64
from ln_audit.numerics.judge import Hypothesis as Honest
from ln_audit.numerics.judge import Setting
from ln_audit.numerics.output_dtype import compute_format
from ln_audit.numerics.parameters import NormParameters, variants
from tests.numerics.runs import F32, ArrayRows

GAIN = np.array([1, 2, -0.5, 4], F32)
BIAS = np.array([0, 0.25, 1, -2], F32)
BEFORE = np.array([[1, 0, 0, 0], [4, -2, 0.5, 3], [0.01, 0.02, -0.01, 0.03]], F32)


def layer_norm(**changes):
    return replace(NormParameters("layer_norm", GAIN, BIAS, 1e-5), **changes)


def suspect(after, before=BEFORE, parameters=None, *, out="float32", others=(), states=None, name="ln_f"):
    norm = layer_norm() if parameters is None else parameters
    setting = Setting(norm.kind, norm.eps, compute_format(FORMATS[out]), FORMATS[out])
    return Suspect(name, norm, setting, ArrayRows(before, np.asarray(after)), tuple(others), states or {})


def batch(of, *, after=True):
    """All rows of a suspect's recording."""
    before, recorded = (float64(side.reshape(-1, of.rows.width)) for side in (of.rows.before, of.rows.after))
    return Batch(np.arange(len(before)), before, recorded if after else None)


def honest(of):
    return Honest(variants(of.parameters, of.setting.output)[0], of.chains[0])


def explained(hypothesis, of):
    """What one hypothesis alone says of a recording."""
    return list(search((hypothesis,), of, honest(of)).explanations)


def told(hypothesis, of):
    return [each.name for each in explained(hypothesis, of)]


def diagnosed(of, **more):
    """The whole comparison."""
    return diagnosis.compare(
        of.rows,
        of.parameters,
        norm=of.name,
        recording="run",
        provenance="",
        output_dtype=of.setting.output.name,
        others=lambda: of.others,
        states=lambda: of.states,
        **more,
    )


def reference(x, norm, eps=None):
    """The norm itself, as float32 numbers; another epsilon where one is given."""
    x = float64(np.asarray(x, F32))
    delta = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer_norm" else x
    z = delta / np.sqrt(np.mean(delta * delta, axis=-1, keepdims=True) + (norm.eps if eps is None else eps))
    gain = 1.0 if norm.gain is None else float64(norm.gain) + norm.weight_offset
    return (gain * z + (0.0 if norm.bias is None else float64(norm.bias))).astype(F32)
