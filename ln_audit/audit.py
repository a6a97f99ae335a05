"""The pipeline: a target becomes a source, a checkpoint, a contract, values, comparisons, findings, a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

from ln_audit import account, agreement, checks, policy, twin, waivers
from ln_audit.checks.subject import Subject
from ln_audit.core import SourceKind
from ln_audit.errors import AuditError, LnAuditError, SourceError
from ln_audit.examination import opened, read, with_values
from ln_audit.families import known
from ln_audit.formats import Artifact, find_artifacts, read_checkpoint
from ln_audit.lock import with_lock
from ln_audit.printable import without_secrets
from ln_audit.result import Failure, Report, SourceReport
from ln_audit.sources import near_names, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.core import Source
    from ln_audit.demand import Demand


def audited(work: Iterable[tuple[str, Demand]], demand: Demand) -> tuple[Report, ...]:
    """The reports on all targets of `policy.work`; where there is none, on each recording, which then stands for itself."""
    work = tuple(work)
    if work:
        return tuple(report for target, own in work for report in audit(target, own))
    return tuple(audit_recording(path, demand) for path in demand.recordings)


def audit(target: str, demand: Demand) -> tuple[Report, ...]:
    """One report per self-contained artifact of the target.

    Never raises for what the target holds: an input that cannot be audited is a report with an error, whose verdict is
    incomplete. Raises `UsageError` when the call itself is wrong.
    """
    demand = with_lock(policy.held(demand))
    require = policy.required(demand.require)
    source: Source | None = None
    try:
        against = None if demand.against is None else twin.examined(demand.against, demand)
        source = opened(target, demand)
        first, *others = find_artifacts(source)
        reports = [_examine(source, steps(source, first, demand, against), demand, require)]
        for artifact in others:
            anew = opened(target, demand)  # each report counts its own bytes
            reports.append(_examine(anew, steps(anew, artifact, demand, against), demand, require))
        return tuple(reports)
    except AuditError as error:
        told = unopened(target) if source is None else account.source_report(source)
        return (Report(told, error=_of_target(error, target)),)


def audit_recording(path: str, demand: Demand) -> Report:
    """The report on a recording that carries its norm itself: tensors `gain` and perhaps `bias`, metadata `kind` and `eps`.

    As `audit`, it never raises for what the file holds; a recording that does not say what its norm is needs a target.
    """
    demand = policy.held(demand)
    require = policy.required(demand.require)
    source: Source | None = None
    try:
        source = opened(path, demand)
        report = _examine(source, _carried_steps(source, path, demand), demand, require)
    except AuditError as error:
        told = unopened(path) if source is None else account.source_report(source)
        report = Report(told, error=failure(error))
    targets = () if demand.policy is None else demand.policy.targets
    if demand.policy is None or not targets:
        return report
    left = f"the {len(targets)} targets of {demand.policy.path}: not verified: only this recording was asked for"
    return replace(report, not_checked=(left, *report.not_checked))


def _examine(source: Source, steps: Iterator[Subject], demand: Demand, require: frozenset[str]) -> Report:
    """One artifact; where a step fails, what the steps before it found out is still judged."""
    import numpy as np

    # What overflows or is no number ends as a value that is not finite, and is judged as that.
    with np.errstate(all="ignore"):
        subject, error = followed(steps)
        return judged(source, subject, error, demand, require)


def followed(steps: Iterator[Subject]) -> tuple[Subject | None, Failure | None]:
    """The last subject that was reached, and why there was no further one."""
    subject: Subject | None = None
    try:
        for reached in steps:
            subject = reached
    except AuditError as problem:
        return subject, failure(problem)
    return subject, None


def judged(
    source: Source, subject: Subject | None, error: Failure | None, demand: Demand, require: frozenset[str]
) -> Report:
    """The report on what was found out."""
    told = account.source_report(source)
    if subject is None:
        return Report(told, error=error)
    norms = account.norm_reports(subject)
    found = waivers.applied(checks.run(subject), subject)
    return Report(
        told,
        account.checkpoint_report(subject.checkpoint),
        subject.recognised,
        norms,
        account.parameters(subject, norms),
        subject.comparisons,
        policy.apply(found, require, strict=policy.strict_by(demand)),
        (*_unread(demand), *account.not_checked(subject, source), *waivers.unused(found, subject)),
        error,
        twin.report(subject),
    )


def _unread(demand: Demand) -> tuple[str, ...]:
    return () if demand.policy is None else demand.policy.unread()


def steps(source: Source, artifact: Artifact, demand: Demand, against: twin.Examined | None) -> Iterator[Subject]:
    """The same subject, ever more complete: as `read` leaves it, held to its source, then with what each recording shows."""
    for subject in read(source, artifact, demand):
        yield subject
    if against is not None:
        subject = twin.held_to(subject, against)
        yield subject
    sample = str(known.ASSETS / "sample" / "recording.safetensors") if source.kind == "sample" else None
    yield from _compared(subject, agreement.given(subject, sample))


def _carried_steps(source: Source, path: str, demand: Demand) -> Iterator[Subject]:
    """The same for a recording that stands for itself."""
    checkpoint = read_checkpoint(source, Artifact("safetensors", source.entry or path))
    norm = agreement.carried_norm(path, checkpoint, demand)
    subject = Subject(source.identity, None, checkpoint, None, None, None, (norm,), demand)
    yield subject
    subject = with_values(subject, (norm,))
    yield subject
    yield from _compared(
        subject, [agreement.Given(path, path, "recording given by the caller, with its own parameters")]
    )


def _compared(subject: Subject, recordings: Iterable[agreement.Given]) -> Iterator[Subject]:
    """The subject with one comparison more at a time."""
    for given in recordings:
        for pair in agreement.pairs(given, subject):
            subject = with_values(subject, (pair.norm,))
            comparison = agreement.compare(pair, subject)
            subject = replace(subject, comparisons=(*subject.comparisons, comparison))
            if comparison.finding != "other-weights":
                subject = _with_claims(subject, pair)
            yield subject


def _with_claims(subject: Subject, pair: agreement.Pair) -> Subject:
    """The subject with what a recording of its weights says of its norm."""
    epsilon = agreement.recorded_epsilon(pair)
    if epsilon is not None:
        told = (pair.norm.name, epsilon)
        # What was published with these weights is right, and the artifact that says otherwise is not.
        recorded = (told, *subject.recorded) if pair.given.packaged else (*subject.recorded, told)
        subject = replace(subject, recorded=recorded)
    return replace(subject, claims=(*subject.claims, *agreement.claims(pair)))


def unopened(target: str) -> SourceReport:
    """What is known of a target that could not even be opened: which kind of source it was taken for."""
    kind, told = source_of(target), without_secrets(target)
    return SourceReport(
        told, cast("SourceKind", kind) if kind in get_args(SourceKind) else "local", told, None, (), 0, 0
    )


def _of_target(error: AuditError, target: str) -> Failure:
    """The error of a target; what the Hub could not give may have been meant as a path."""
    meant = near_names.local_hint(target) if isinstance(error, SourceError) else ""
    hint = "" if error.hint in meant else error.hint
    return Failure(error.kind, error.message, "; ".join(filter(None, (meant, hint))))


def failure(error: LnAuditError) -> Failure:
    """An error as a value of the report."""
    return Failure(error.kind, error.message, error.hint)
