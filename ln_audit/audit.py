"""The pipeline: a target becomes a source, a checkpoint, a contract, values, comparisons, findings, a report."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ln_audit import account, agreement, checks, policy
from ln_audit.checks.subject import Subject
from ln_audit.core import Recognised
from ln_audit.errors import AuditError, LnAuditError, UsageError
from ln_audit.families import contract, described, known, recognise
from ln_audit.families.reading import readings
from ln_audit.formats import Artifact, find_artifacts, read_checkpoint
from ln_audit.formats.config import read_config
from ln_audit.formats.dtypes import readable
from ln_audit.printable import without_secrets
from ln_audit.report import Failure, Report, SourceReport
from ln_audit.sources import SOURCES, open_source
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.core import Checkpoint, Norm, Source, SourceKind, TensorInfo
    from ln_audit.demand import Demand

_LARGEST = 16_000_000  # bytes of one norm tensor: the widest known have 0.2 MB, and a wrong shape may claim anything


def audit(target: str, demand: Demand) -> tuple[Report, ...]:
    """One report per self-contained artifact of the target.

    Never raises for what the target holds: an input that cannot be audited is a report with an error, whose verdict is
    incomplete. Raises `UsageError` when the call itself is wrong.
    """
    require = policy.required(demand.require)
    source: Source | None = None
    try:
        source = _open(target, demand)
        first, *others = find_artifacts(source)
        reports = [_examine(source, _steps(source, first, demand), demand, require)]
        for artifact in others:
            anew = _open(target, demand)  # each report counts its own bytes
            reports.append(_examine(anew, _steps(anew, artifact, demand), demand, require))
        return tuple(reports)
    except AuditError as error:
        told = _unopened(target) if source is None else account.source_report(source)
        return (Report(told, error=failure(error)),)


def audit_recording(path: str, demand: Demand) -> Report:
    """The report on a recording that carries its norm itself: tensors `gain` and perhaps `bias`, metadata `kind` and `eps`.

    As `audit`, it never raises for what the file holds; a recording that does not say what its norm is needs a target.
    """
    require = policy.required(demand.require)
    source: Source | None = None
    try:
        source = _open(path, demand)
        return _examine(source, _carried_steps(source, path, demand), demand, require)
    except AuditError as error:
        told = _unopened(path) if source is None else account.source_report(source)
        return Report(told, error=failure(error))


def _open(target: str, demand: Demand) -> Source:
    return open_source(target, Settings(demand.revision, demand.offline, demand.full, demand.progress))


def _examine(source: Source, steps: Iterator[Subject], demand: Demand, require: frozenset[str]) -> Report:
    """One artifact; where a step fails, what the steps before it found out is still judged."""
    subject: Subject | None = None
    error: Failure | None = None
    try:
        for reached in steps:
            subject = reached
    except AuditError as problem:
        error = failure(problem)
    told = account.source_report(source)
    if subject is None:
        return Report(told, error=error)
    norms = account.norm_reports(subject)
    return Report(
        told,
        account.checkpoint_report(subject.checkpoint),
        subject.recognised,
        norms,
        account.parameters(subject, norms),
        subject.comparisons,
        policy.apply(checks.run(subject), require, strict=demand.strict),
        tuple(account.not_checked(subject, source)),
        error,
    )


def promised(target: str, demand: Demand) -> Subject:
    """The target's first artifact with its norms' values read, for what is no verdict (trace). Raises `AuditError`."""
    source = _open(target, demand)
    *_, subject = _read(source, find_artifacts(source)[0], demand)
    return subject


def _steps(source: Source, artifact: Artifact, demand: Demand) -> Iterator[Subject]:
    """The same subject, ever more complete: as `_read` leaves it, then with what each recording shows."""
    for subject in _read(source, artifact, demand):
        yield subject
    sample = str(known.ASSETS / "sample" / "recording.safetensors") if source.kind == "sample" else None
    yield from _compared(subject, agreement.given(subject, sample))


def _carried_steps(source: Source, path: str, demand: Demand) -> Iterator[Subject]:
    """The same for a recording that stands for itself."""
    checkpoint = read_checkpoint(source, Artifact("safetensors", source.entry or path))
    norm = agreement.carried_norm(path, checkpoint, demand)
    subject = Subject(source.identity, None, checkpoint, None, None, None, (norm,), demand)
    yield subject
    subject = _with_values(subject, (norm,))
    yield subject
    yield from _compared(
        subject, [agreement.Given(path, path, "recording given by the caller, with its own parameters")]
    )


def _read(source: Source, artifact: Artifact, demand: Demand) -> Iterator[Subject]:
    """One artifact without its recordings: its header, what it is, what it promises, its values."""
    checkpoint = read_checkpoint(source, artifact)
    config = read_config(source, demand.config)
    own = None if demand.config is None else read_config(source)
    subject = Subject(source.identity, source.revision, checkpoint, config, None, None, (), demand, own_config=own)
    yield subject
    subject = _identified(subject)
    yield subject
    subject = _promised(subject)
    yield subject
    for_all = demand.values == "all" or (demand.values is None and source.kind in ("local", "sample"))
    yield _with_values(subject, subject.norms if for_all else subject.final())


def _compared(subject: Subject, recordings: Iterable[agreement.Given]) -> Iterator[Subject]:
    """The subject with one comparison more at a time."""
    for given in recordings:
        for pair in agreement.pairs(given, subject):
            subject = _with_values(subject, (pair.norm,))
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


def _identified(subject: Subject) -> Subject:
    """The subject with its family, given or recognised; as it was where nothing that we know fits."""
    demand = subject.demand
    own = {} if demand.policy is None else demand.policy.families
    if demand.family is not None:
        family = recognise.given(demand.family, own)
        return replace(subject, family=family, recognised=Recognised(family.name, "given by the caller"))
    found = recognise.identify(subject.checkpoint, subject.config, own)
    return subject if found is None else replace(subject, family=found[0], recognised=found[1])


def _promised(subject: Subject) -> Subject:
    """The subject with the norms it must have; where the family is unknown, with those that it or the caller describes."""
    demand, checkpoint, config, family = subject.demand, subject.checkpoint, subject.config, subject.family
    if family is None:
        if demand.norm is not None and demand.kind is not None:
            return replace(subject, norms=described.described(checkpoint, config, demand))
        listed = tuple(recognise.candidates(checkpoint, config))
        return replace(subject, norms=described.by_graph(checkpoint, config, demand), candidates=listed)
    parts = readings(family, config, checkpoint)
    norms = contract.contract(parts, checkpoint, demand)
    subject = replace(subject, readings=parts, norms=norms, known=known.known(family, norms))
    if demand.norm is not None and agreement.find(subject, demand.norm) is None:
        raise UsageError(f"--norm {demand.norm}: expected a norm of {family.name}, found none of that name")
    return subject


def _with_values(subject: Subject, norms: tuple[Norm, ...]) -> Subject:
    """The subject with the values of these norms read, all in one call so that the source can join what is near."""
    from ln_audit.formats.dtypes import decode

    tensors = subject.checkpoint.tensors
    names = [
        name
        for norm in norms
        for name in (*norm.tensors, *(other for _, other in norm.copies))
        if name in tensors and name not in subject.values and _readable(tensors[name], subject.checkpoint)
    ]
    if not names:
        return subject
    stored = dict(subject.checkpoint.read(names))
    arrays = {name: decode(value) for name, value in stored.items()}
    return replace(subject, values={**subject.values, **stored}, arrays={**subject.arrays, **arrays})


def _readable(info: TensorInfo, checkpoint: Checkpoint) -> bool:
    """Whether the values can be decoded and are no more than a norm can have; wrong-shape and stored-dtype say the rest."""
    countable = prod(max(extent, 1) for extent in info.shape) < _LARGEST
    known = readable(info.dtype) or info.dtype in checkpoint.dequantizes
    return known and info.nbytes <= _LARGEST and countable


def _unopened(target: str) -> SourceReport:
    """What is known of a target that could not even be opened: which kind of source it was taken for."""
    kinds: tuple[SourceKind, ...] = ("sample", "local", "http", "hub")
    kind: SourceKind = next(
        (kind for kind, module in zip(kinds, SOURCES, strict=True) if module.accepts(target)), "local"
    )
    told = without_secrets(target)
    return SourceReport(told, kind, told, None, (), 0, 0)


def failure(error: LnAuditError) -> Failure:
    """An error as a value of the report."""
    return Failure(error.kind, error.message, error.hint)
