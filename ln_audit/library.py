"""What the command line does, as functions: they return frozen values, print nothing, and end no program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ln_audit import arguments, call, reports
from ln_audit.errors import (
    AuditError,
    FamilyError,
    FormatError,
    RecordingError,
    SourceError,
    UnsupportedError,
    UsageError,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.demand import Demand
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.reports.document import Run
    from ln_audit.result import Report

    Path = str | os.PathLike[str]

_ERRORS = (SourceError, FormatError, UnsupportedError, FamilyError, RecordingError)


def verify(
    *targets: Path,
    recording: Path | Iterable[Path] | None = None,
    against: Path | None = None,
    expect: Literal["same", "derived"] | None = None,
    lock: Path | None = None,
    require: str | Iterable[str] = (),
    strict: bool = False,
    values: Literal["final", "all"] | None = None,
    norm: str | None = None,
    output_dtype: str | None = None,
    before_rounded: str | None = None,
    config: Path | None = None,
    family: str | None = None,
    kind: str | None = None,
    eps: float | None = None,
    offset: float | None = None,
    revision: str | None = None,
    offline: bool = False,
    full: bool = False,
    pictures: bool = False,
) -> Run:
    """Are these artifacts' norms what they should be? As `ln-audit verify`, with the options of the same names.

    `targets` are what the command takes: a folder, a file, a Hub name, an address. The run's `verdict` is `pass`, `fail` or
    `incomplete` (the worst of its `reports`), its `exit_code` the command's. No policy is read: a library does not look around.
    `pictures` keeps what `render(run, "html")` draws.
    Never raises for what a target holds. Raises `UsageError` for a call that is wrong.
    """
    names = [arguments.word("target", target) for target in targets]
    demand = call.demand({
        "recording": recording, "output_dtype": output_dtype, "before_rounded": before_rounded, "norm": norm,
        "config": config, "family": family, "kind": kind, "eps": eps, "offset": offset, "values": values,
        "against": against, "expect": expect, "lock": lock, "require": require, "strict": strict, "revision": revision,
        "offline": offline, "full": full, "pictures": pictures,
    })  # fmt: skip
    return _audited(names, demand)


def report(
    target: Path, *, config: Path | None = None, family: str | None = None, revision: str | None = None
) -> Report:
    """Which norm parameters does it hold, exactly? As `ln-audit report`: the values of all norms are read.

    Raises `AuditError` where the target cannot be read, `UsageError` where it holds several artifacts: name one of them.
    """
    target = arguments.word("target", target)
    run = verify(target, values="all", config=config, family=family, revision=revision)
    if len(run.reports) > 1:
        names = ", ".join(each.source.files[0].name for each in run.reports if each.source.files)
        raise UsageError(f"{target}: expected one artifact, found {len(run.reports)}: {names}")
    return _read(run.reports[0])


def compare_recording(
    recording: Path,
    target: Path | None = None,
    *,
    norm: str | None = None,
    output_dtype: str | None = None,
    before_rounded: str | None = None,
    family: str | None = None,
    revision: str | None = None,
) -> tuple[Comparison, ...]:
    """The recorded rows against the float64 reference, one comparison for each norm that the recording holds.

    `target` is the model that was run; a recording that carries its gain, bias, kind and epsilon needs none. Raises
    `AuditError` where nothing could be compared, `UsageError` for a call that is wrong.
    """
    recording = arguments.word("recording", recording)
    targets = () if target is None else (target,)
    run = verify(
        *targets, recording=recording, values="final", norm=norm, output_dtype=output_dtype,
        before_rounded=before_rounded, family=family, revision=revision,
    )  # fmt: skip
    found = _read(run.reports[0]).comparisons
    if not found:
        raise RecordingError(f"{recording}: expected a recording of a norm that is known, found none")
    return found


def load_norms(
    target: Path, *, family: str | None = None, config: Path | None = None, revision: str | None = None
) -> dict[str, NormParameters]:
    """The norms of a checkpoint by name, with their values: gain and bias `[d]` in the dtype in which they are stored.

    What the model adds to the stored gain is in `weight_offset`. Norms whose epsilon is not known or whose values cannot be
    read are not among them. Raises `AuditError` where the target cannot be read or its family is not known.
    """
    from ln_audit.agreement.candidates import norm_parameters
    from ln_audit.examination import promised

    demand = call.demand({"values": "all", "family": family, "config": config, "revision": revision})
    target = arguments.word("target", target)
    subject = promised(target, call.sound(demand, [target]))
    found = {norm.name: norm_parameters(subject, norm) for norm in subject.norms}
    return {name: parameters for name, parameters in found.items() if parameters is not None}


def render(run: Run, form: str = "text") -> str:
    """The run as `--format` writes it: text, json, markdown, … Raises `UsageError` for an unknown format."""
    from ln_audit.reports.document import Run

    if not isinstance(run, Run):
        raise arguments.wrong("run", "what verify returned", run)
    return reports.find(arguments.word("form", form)).render(run)


def _audited(targets: Sequence[str], demand: Demand) -> Run:
    from ln_audit import policy
    from ln_audit.audit import audited
    from ln_audit.reports.document import Run, exit_code

    demand = call.sound(demand, targets)
    found = audited(policy.work(demand, targets), demand)
    return Run(found, exit_code(found))


def _read(found: Report) -> Report:
    """The report of an input that could be audited. Raises its `AuditError` where it could not."""
    if found.error is not None:
        raised = next((each for each in _ERRORS if each("").kind == found.error.kind), AuditError)
        raise raised(found.error.message, hint=found.error.hint)
    return found
