"""Waivers of a policy: findings that people have looked at and accept until a day. Nothing of them is hidden."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.demand import Waiver
    from ln_audit.result import Finding

_INDEX = re.compile(r"\\\{[a-z]+\\\}")  # `{layer}`, escaped
_MARK = "waived_until"


def applied(findings: Iterable[Finding], subject: Subject) -> tuple[Finding, ...]:
    """The findings, those that a waiver accepts as warnings that say so. What was not decided is not touched."""
    policy = subject.demand.policy
    active = [] if policy is None else [waiver for waiver in policy.waivers if not policy.expired(waiver)]
    if not active:
        return tuple(findings)
    return tuple(_accepted(finding, active, subject) for finding in findings)


def waived(finding: Finding) -> bool:
    """Whether a waiver accepts it."""
    return _MARK in finding.evidence


def unused(findings: Sequence[Finding], subject: Subject) -> Iterator[str]:
    """What a reader should know of waivers that accepted nothing of this artifact."""
    policy = subject.demand.policy
    for waiver in () if policy is None else policy.waivers:
        if policy is None or policy.expired(waiver):
            continue
        if not any(waived(finding) and _covers(waiver, finding, subject) for finding in findings):
            yield f"{policy.path}: waiver of {waiver.rule} for {one_line(waiver.norm)}: nothing here to waive"


def _accepted(finding: Finding, active: Sequence[Waiver], subject: Subject) -> Finding:
    if finding.status not in ("fail", "warn"):
        return finding
    waiver = next((each for each in active if _covers(each, finding, subject)), None)
    if waiver is None:
        return finding
    told = f"waived until {waiver.until}: {waiver.reason}"
    evidence = {
        "waived_from": finding.status,
        _MARK: str(waiver.until),
        "waived_because": waiver.reason,
    }
    reason = f"{told}; {finding.reason}".removesuffix("; ")
    return replace(finding, status="warn", reason=reason, evidence={**finding.evidence, **evidence})


def _covers(waiver: Waiver, finding: Finding, subject: Subject) -> bool:
    """Whether the finding is of that rule and that norm."""
    if waiver.rule != finding.rule:
        return False
    pattern = re.compile(_INDEX.sub(r"\\d++", re.escape(waiver.norm)))  # possessive: one way to part numbers, no search
    return waiver.norm == finding.subject or any(map(pattern.fullmatch, _names(finding, subject)))


def _names(finding: Finding, subject: Subject) -> Iterator[str]:
    """What the finding is of: its subject, and the norm that this is, or is a tensor or a recording of."""
    yield finding.subject
    for norm in subject.norms:
        own = (one_line(name) for name in (norm.name, norm.promised, *norm.tensors))
        if finding.subject in own or finding.subject.startswith(f"{one_line(norm.name)} against "):
            yield norm.name
            yield from _familys(norm, subject)


def _familys(norm: Norm, subject: Subject) -> Iterator[str]:
    """The family's own name of a norm, as it is and behind what may stand in front of the family's names.

    Of a model in which two parts promise such a norm, what stands in front would be that of either: only its own name counts.
    """
    yield norm.promised
    promising = [
        (reading, row)
        for reading in subject.readings
        for row in reading.family.norms
        if row.name == norm.pattern and (reading.stack or row.stack) == norm.stack
    ]
    for reading, row in promising if len({id(reading) for reading, _ in promising}) == 1 else ():
        if not row.rooted:
            yield from (prefix + norm.promised for prefix in reading.spelling.prefixes)
