"""One small report with something in every field, for tests of the outputs."""

from dataclasses import replace

from ln_audit.comparison import Comparison, Worst
from ln_audit.core import FileUse, Norm, Place, Recognised
from ln_audit.demand import Policy
from ln_audit.reports.document import Run
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

# Runs of every outcome, for the golden files and for independent readers of each output.
CLEAN = replace(REPORT, source=replace(SOURCE, spec="models/clean", kind="local", identity="/m/models/clean", revision=None, requests=0),
                findings=(RULE.passed("ln_f", "gain and bias found"),), not_checked=())  # fmt: skip
_LOCAL = SourceReport("models/b.gguf", "local", "/m/models/b.gguf", None, (FileUse("b.gguf", 4_096, 4_096),), 0, 4_096)
UNLIKE = replace(
    CLEAN,
    source=_LOCAL,
    findings=(
        *(RULE.failed(f"h.{i}.ln_{j}", f"b.gguf: h.{i}.ln_{j}.weight: expected a gain, found no such tensor", "save it again")
          for i in range(12) for j in (1, 2)),
        OTHER.failed("ln_f", "b.gguf: ln_f.weight: expected finite values, found 1 NaN, first at [3]"),
        Rule("LN102", "zero-gain").passed("ln_f", "no gain is zero"),
    ),
)  # fmt: skip
UNDECIDED = replace(
    CLEAN,
    source=replace(_LOCAL, spec="models/c", identity="/m/models/c"),
    findings=(
        RULE.passed("ln_f", "gain and bias found"),
        Rule("LN201", "off-reference").skipped("ln_f", "no recorded hidden states: give --recording FILE", required=True),
        OTHER.skipped("12 norms", "not read"),
    ),
)  # fmt: skip
WAIVED = replace(
    CLEAN,
    findings=(
        RULE.passed("ln_f", "gain and bias found"),
        OTHER.warned("ln_f", "odd", "waived until 2099-01-01: known", waived_until="2099-01-01", waived_because="known"),
    ),
)  # fmt: skip
POLICY = Policy("ln-audit.toml", "c" * 64)
RUNS = {
    "passing": Run((REPORT,), 0, command=("verify", "gpt2", "--recording", "run.safetensors")),
    "failing": Run((UNLIKE,), 1, policy=POLICY, command=("verify", "models/b.gguf", "--format", "sarif", "--strict")),
    "incomplete": Run((UNDECIDED,), 3, command=("verify", "models/c", "--require", "LN201")),
    "unopened": Run((BROKEN,), 3, command=("verify", "x")),
    "nothing": Run((), 3),
    "rejected": Run((), 2, Failure("usage", "--eps: expected a number, found 'x'", "see ln-audit verify --help")),
    "bug": Run((), 4, Failure("bug", "a bug in ln-audit: ZeroDivisionError: division by zero", "please report it")),
    "several": Run((CLEAN, UNDECIDED, UNLIKE, BROKEN, WAIVED, REPORT), 1, policy=POLICY),
}
