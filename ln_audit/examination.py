"""From a target to a subject: its source is opened, its header read, its family told, its norms worked out, its values read."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ln_audit import agreement
from ln_audit.checks.subject import Subject
from ln_audit.core import Recognised
from ln_audit.errors import UsageError
from ln_audit.families import contract, described, known, recognise
from ln_audit.families.reading import readings
from ln_audit.formats import Artifact, find_artifacts, read_checkpoint
from ln_audit.formats.config import read_config
from ln_audit.formats.dtypes import Decoded, readable
from ln_audit.lock import file_hashes
from ln_audit.sources import open_source, source_of
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.core import Checkpoint, Norm, Source, TensorInfo
    from ln_audit.demand import Demand

_LARGEST = 16_000_000  # bytes of one norm tensor: the widest known have 0.2 MB, and a wrong shape may claim anything


def opened(target: str, demand: Demand) -> Source:
    """The place that the target names. Raises `SourceError`, `UsageError`."""
    return open_source(target, Settings(demand.revision, demand.offline, _whole(target, demand), demand.progress))


def _whole(target: str, demand: Demand) -> bool:
    """Whether whole files are downloaded: with --full, and where the policy has the digest of one that is on the Hub."""
    digests = demand.policy is not None and demand.policy.rules.file_digests
    return demand.full or (bool(digests) and not demand.offline and source_of(target) == "hub")


def promised(target: str, demand: Demand) -> Subject:
    """The target's first artifact with its norms' values read, for what is no verdict (trace). Raises `AuditError`."""
    if demand.policy is not None:
        demand = replace(demand, policy=demand.policy.without_rules())
    source = opened(target, demand)
    *_, subject = read(source, find_artifacts(source)[0], demand)
    return subject


def read(source: Source, artifact: Artifact, demand: Demand) -> Iterator[Subject]:
    """One artifact without its recordings: its header, what it is, what it promises, its values."""
    yield from found_in(source, read_checkpoint(source, artifact), demand)


def found_in(source: Source, checkpoint: Checkpoint, demand: Demand) -> Iterator[Subject]:
    """The same with a checkpoint whose header was read already."""
    config = read_config(source, demand.config)
    own = None if demand.config is None else read_config(source)
    asked = _revision(source.spec, demand) if source.kind == "hub" else None
    subject = Subject(
        source.identity, source.revision, checkpoint, config, None, None, (), demand,
        own_config=own, kind=source.kind, asked=asked,
    )  # fmt: skip
    yield subject
    subject = _identified(subject)
    yield subject
    subject = _promised(subject)
    yield subject
    held = demand.against is not None or demand.lock is not None  # all norms are held to something
    for_all = demand.values == "all" or (demand.values is None and (held or source.kind in ("local", "sample")))
    subject = with_values(subject, subject.norms if for_all else (*subject.final(), *_with_digests(subject)))
    if demand.locked is not None:
        subject = replace(subject, hashes=file_hashes.known(source, checkpoint.files, full=demand.full))
    yield subject
    if demand.policy is not None and demand.policy.rules.file_digests:
        whole = file_hashes.whole(source, demand.policy.rules.file_digests)
        yield replace(subject, hashes={**subject.hashes, **whole})


def _revision(spec: str, demand: Demand) -> str | None:
    """The revision of the Hub that was asked for."""
    from ln_audit.sources import hub_target

    return hub_target.parse(spec, demand.revision).revision


def _with_digests(subject: Subject) -> Iterator[Norm]:
    """The norms of which the policy has a digest."""
    policy = subject.demand.policy
    for name in () if policy is None else policy.rules.value_digests:
        yield from (norm for norm, _ in subject.called(name))


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


def with_values(subject: Subject, norms: tuple[Norm, ...]) -> Subject:
    """The subject with the values of these norms read, all in one call so that the source can join what is near."""
    tensors = subject.checkpoint.tensors
    names = [
        name
        for norm in dict.fromkeys(norms)
        for name in (*norm.tensors, *(other for _, other in norm.copies))
        if name in tensors and name not in subject.values and _readable(tensors[name], subject.checkpoint)
    ]
    if not names:
        return subject
    stored = {**subject.values, **subject.checkpoint.read(names)}
    return replace(subject, values=stored, arrays=Decoded(stored))


def _readable(info: TensorInfo, checkpoint: Checkpoint) -> bool:
    """Whether the values can be decoded and are no more than a norm can have; wrong-shape and stored-dtype say the rest."""
    countable = prod(max(extent, 1) for extent in info.shape) < _LARGEST
    known = readable(info.dtype) or info.dtype in checkpoint.dequantizes
    return known and info.nbytes <= _LARGEST and countable
