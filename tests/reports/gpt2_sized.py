"""A synthetic report as large as GPT-2 small's: 12 layers, 25 norms with gain and bias of 768 channels, and a recording."""

from math import prod
from typing import Any

import numpy as np

from ln_audit.account import histogram
from ln_audit.comparison import Comparison
from ln_audit.core import FileUse, Norm, Recognised
from ln_audit.numerics.channels import channels
from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from ln_audit.resolving_power.resolve import resolve
from ln_audit.result import CheckpointReport, NormReport, Parameters, Report, Rule, SourceReport, TensorReport

WIDTH, LAYERS, POSITIONS = 768, 12, 512


class Rows:
    """Recorded rows that are in memory."""

    before_dtype = after_dtype = "float32"

    def __init__(self, before: Any, after: Any) -> None:
        self.before, self.after = before, after
        self.positions, self.width = before.shape
        self.leading = (self.positions,)

    def blocks(self, rows: int):
        for at in range(0, self.positions, rows):
            yield self.before[at : at + rows], self.after[at : at + rows]


def tensor(name: str, role: Any, values: Any) -> TensorReport:
    with np.errstate(over="ignore"):
        std = float(values.std())
    return TensorReport(
        name, role, values.shape, "F32", "a" * 64, "b" * 64, float(values.mean()), std, float(values.min()),
        float(values.max()), int(values.argmin()), int(values.argmax()), histogram(values), channels(values),
    )  # fmt: skip


def parameters(layer: int) -> tuple[Any, Any]:
    """Gain and bias like those of a trained model: growing with the depth, with a few channels that stand far apart."""
    random = np.random.default_rng(layer)
    gain = (0.2 + 0.09 * layer + random.normal(0, 0.03 + 0.004 * layer, WIDTH)).astype(np.float32)
    bias = random.normal(0, 0.05 + 0.01 * layer, WIDTH).astype(np.float32)
    gain[[138, 378, 447]] *= [3.1, 0.05, 2.2]
    bias[138] = -1.5 - 0.1 * layer
    return gain, bias


def norm(name: str, layer: int | None) -> tuple[Norm, NormReport]:
    gain, bias = parameters(LAYERS if layer is None else layer)
    pattern = name if layer is None else name.replace(f".{layer}.", ".{layer}.")
    made = Norm(
        name, "final" if layer is None else "block", "decoder", layer, "layer_norm", f"{name}.weight", f"{name}.bias", WIDTH,
        "config.json: n_embd", 1e-5, "config.json: layer_norm_epsilon", pattern=pattern,
    )  # fmt: skip
    tensors = (tensor(f"{name}.weight", "gain", gain), tensor(f"{name}.bias", "bias", bias))
    return made, NormReport(made, tensors, sum(prod(each.shape) for each in tensors))


def comparison() -> Comparison:
    """A run in float32 whose inputs have channels of large values, as GPT-2's have."""
    gain, bias = parameters(LAYERS)
    random = np.random.default_rng(99)
    x = random.normal(0, 3, (POSITIONS, WIDTH)).astype(np.float32)
    x[:, 447] += 300
    wide = x.astype(np.float32)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * gain + bias
    held = NormParameters("layer_norm", gain, bias, 1e-5)
    rows = Rows(x, y)
    return resolve(
        compare(rows, held, norm="ln_f", recording="run.safetensors", provenance="given", pictures=True), rows, held
    )


def report() -> Report:
    """The whole of it, with findings as an audit makes them."""
    norms = [norm(f"h.{layer}.ln_{kind}", layer)[1] for layer in range(LAYERS) for kind in (1, 2)]
    norms.append(norm("ln_f", None)[1])
    missing, finite, offset = (
        Rule("LN001", "missing-norm"),
        Rule("LN101", "not-finite"),
        Rule("LN106", "unusual-offset"),
    )
    findings = [rule.passed(each.norm.name, "as it must be") for rule in (missing, finite) for each in norms]
    findings.append(
        offset.warned("h.3.ln_1", "h.3.ln_1.weight: expected gains around 1, found mean 0.47", "look at it")
    )
    return Report(
        SourceReport("gpt2", "hub", "openai-community/gpt2", "607a30d783dfa663", (FileUse("model.safetensors", 548_105_171, 22_533),), 6, 22_533),
        CheckpointReport("safetensors", 160, {"F32": 160}),
        Recognised("gpt2", 'model_type "gpt2" in config.json'),
        tuple(norms),
        Parameters(1536, 38_400, 124_439_808),
        (comparison(),),
        tuple(findings),
        ("every tensor that is no norm: only its name, dtype, shape and place in the file were read",),
    )  # fmt: skip
