"""The source that an artifact is held to with --against: opened once, read like any target, compared with each artifact."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ln_audit import account
from ln_audit.checks.subject import Twin
from ln_audit.demand import Demand
from ln_audit.errors import AuditError
from ln_audit.examination import found_in, opened, read, with_values
from ln_audit.formats import find_artifacts
from ln_audit.result import AgainstReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.against.side import Side
    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm, Source
    from ln_audit.demand import InMemory, NormModule


_UNTOLD = "its own module in memory has no number that is called an epsilon"


class Examined(NamedTuple):
    """The source as far as it could be read; `failure` says why it could not be."""

    label: str
    source: Source | None
    subject: Subject | None
    failure: str = ""
    modules: tuple[NormModule, ...] = ()  # of a model in memory, whoever promises them


def examined(target: str, demand: Demand) -> Examined:
    """The source with all values of its norms. Never raises for what it holds; raises `UsageError` for a wrong call."""
    policy = None if demand.policy is None else demand.policy.without_rules()
    own = Demand(offline=demand.offline, progress=demand.progress, values="all", policy=policy)
    if demand.live is not None:
        return _in_memory(target, demand.live, own)
    source: Source | None = None
    try:
        source = opened(target, own)
        artifacts = find_artifacts(source)
        if len(artifacts) > 1:
            names = ", ".join(artifact.file for artifact in artifacts[:4])
            return Examined(
                target, source, None, f"expected one model, found {len(artifacts)} ({names}): name the file"
            )
        *_, subject = read(source, artifacts[0], own)
    except AuditError as error:
        return Examined(target, source, None, error.message)
    return Examined(target, source, subject)


def _in_memory(label: str, live: InMemory, demand: Demand) -> Examined:
    """The same of a model that this process holds."""
    if live.failure:
        return Examined(label, None, None, live.failure)
    try:
        *_, subject = found_in(live.source, live.checkpoint, demand)
    except AuditError as error:
        return Examined(label, live.source, None, error.message)
    by_tensor = {tensor: module for module in live.modules for tensor in module.tensors}
    by_name = {module.name: module for module in live.modules}
    norms = tuple(_as_it_computes(norm, by_tensor, by_name) for norm in subject.norms)
    return Examined(label, live.source, replace(subject, norms=norms), modules=live.modules)


def _as_it_computes(norm: Norm, by_tensor: Mapping[str, NormModule], by_name: Mapping[str, NormModule]) -> Norm:
    """The norm with the epsilon and the kind that its own module has; the config's is what it would be built with."""
    own = next((by_tensor[each] for each in norm.tensors if each in by_tensor), None)
    own = own or next((by_name[each] for each in (norm.name, norm.promised) if each in by_name), None)
    if own is None:
        return norm
    norm = replace(norm, kind=own.kind or norm.kind)
    if own.eps is None and own.eps_in_code:
        return norm
    if own.eps is None:
        return replace(norm, eps=None, eps_source=_UNTOLD, eps_origin="unknown")
    return replace(norm, eps=own.eps, eps_source="its own module", eps_origin="given")


def _once(subject: Subject, theirs: Subject, modules: Sequence[NormModule]) -> tuple[Subject, tuple[Norm, ...]]:
    """The model in memory with each norm once, and its norms that no family promises.

    Of parameters that are tied the artifact may hold one alone: the others are there with it.
    """
    from ln_audit.against.pairing import nameless

    there = set(subject.checkpoint.tensors)
    tied = {tensor: others for module in modules for tensor, others in module.tied.items()}
    elsewhere = {tensor for tensor, others in tied.items() if tensor not in there and there & set(others)}
    norms = tuple(norm for norm in theirs.norms if not norm.tensors or not elsewhere.issuperset(norm.tensors))
    known = elsewhere | {tensor for norm in norms for tensor in norm.tensors}
    besides = (tensor for module in modules if module.called for tensor in module.tensors if tensor not in known)
    return replace(theirs, norms=norms), tuple(nameless(theirs.checkpoint.tensors[each]) for each in besides)


def held_to(subject: Subject, against: Examined) -> Subject:
    """The subject with its comparison. Where a family is unknown, what is called like a norm is read and paired by name."""
    told = None if against.source is None else account.source_report(against.source)
    identity = told.identity if told is not None else against.label
    if against.subject is None:
        return replace(subject, twin=Twin(against.label, identity, failure=against.failure, report=told))
    from ln_audit.against.compared import compare
    from ln_audit.against.pairing import vectors

    theirs, besides = _once(subject, against.subject, against.modules)
    by_name = subject.family is None or theirs.family is None
    try:
        theirs = with_values(theirs, (*(vectors(_side(theirs)) if by_name else ()), *besides))
        subject = with_values(subject, (*(vectors(_side(subject)) if by_name else ()), *besides))
    except AuditError as error:
        return replace(subject, twin=Twin(against.label, identity, failure=error.message, report=told))
    found = compare(_side(subject), _side(theirs), subject.demand.expect, besides)
    told = None if against.source is None else account.source_report(against.source)
    if found.stored_without is False:  # the file does not say so, but its source does: its gains are whole
        subject = replace(subject, norms=tuple(replace(norm, weight_offset=0.0) for norm in subject.norms))
    family = None if theirs.family is None else theirs.family.name
    return replace(subject, twin=Twin(against.label, identity, found, report=told, family=family))


def report(subject: Subject) -> AgainstReport | None:
    """What a report says of the source; None without one, or where it could not even be opened."""
    twin = subject.twin
    if twin is None or twin.report is None:
        return None
    return AgainstReport(twin.report, twin.family, 0 if twin.compared is None else len(twin.compared.pairing.pairs))


def _side(subject: Subject) -> Side:
    from ln_audit.against.side import Side

    return Side(
        subject.identity,
        subject.checkpoint,
        subject.norms,
        subject.values,
        None if subject.family is None else subject.family.name,
        any(reading.spelling.view.offset_unknown for reading in subject.readings),
        {} if subject.config is None else subject.config.data,
    )
