"""One small report with something in every field, for tests of the outputs."""

from ln_audit.comparison import Comparison, Worst
from ln_audit.core import FileUse, Norm, Place, Recognised
from ln_audit.result import (
    CheckpointReport,
    Failure,
    NormReport,
    Parameters,
    Report,
    Rule,
    SourceReport,
    TensorReport,
)  # fmt: skip

RULE, OTHER = Rule("LN001", "missing-norm"), Rule("LN101", "not-finite")
SOURCE = SourceReport(
    "gpt2",
    "hub",
    "openai-community/gpt2",
    "607a30d783dfa663",
    (FileUse("model.safetensors", 548_105_171, 22_533),),
    6,
    22_533,
)
NORM = Norm(
    "ln_f", "final", "decoder", None, "layer_norm", "ln_f.weight", "ln_f.bias", 4, "config.json: n_embd", 1e-5,
    "config.json: layer_norm_epsilon", (Place("config.json: layer_norm_epsilon", 1e-5),),
)  # fmt: skip
GAIN = TensorReport("ln_f.weight", "gain", (4,), "F32", "a" * 64, "b" * 64, 1.5, 0.25, 1.0, 2.0, 3, 0, (1, 0, 2, 1))
BIAS = TensorReport("ln_f.bias", "bias", (4,), "F32")
COMPARISON = Comparison(
    "ln_f", "run.safetensors", "recording given by the caller", "pass", "agrees", "all agree", 2, 8, 0, "float32", "inferred", "float32",
    "float32", "once", 1e-7, 0.25, 0, None, Worst((0, 1), 3, 1.0, 1.0000001, 4e-7, 0.25),
)  # fmt: skip
REPORT = Report(
    SOURCE,
    CheckpointReport("safetensors", 160, {"F32": 160}),
    Recognised("gpt2", 'model_type "gpt2" in config.json'),
    (NormReport(NORM, (GAIN, BIAS), 8),),
    Parameters(8, 8, 124),
    (COMPARISON,),
    (
        RULE.passed("ln_f", "gain and bias found"),
        OTHER.warned("ln_f", "odd", "look"),
        OTHER.skipped("1 norms", "not read"),
    ),
    ("other files: not listed",),
)
BROKEN = Report(
    SourceReport("x", "local", "/x", None, (), 0, 0), error=Failure("format", "x: expected a, found b", "do this")
)
FAILED = Report(
    SOURCE, findings=tuple(RULE.failed(f"h.{i}", f"h.{i}: expected a, found b", "mend it") for i in range(10))
)
