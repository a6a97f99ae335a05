"""The artifact's norms are not those of the lockfile.

What it does: with --lock, holds every norm to the lockfile, whatever the container: kind, width, epsilon as float32, and gain
and bias by the digest of their effective values. An artifact that stores them in bfloat16 or float16 is held to the values
rounded to that. A norm that is locked and gone, or there and not locked, is a failure; where a whole tower is left out or added
(a vision encoder), it is told.

Why it matters: a lockfile pins what was reviewed. A conversion, a merge or a re-upload under the same name that changes one bit
of one norm no longer passes, and the change is reviewed as a change of that file.

Example: `model.gguf: output_norm.weight: expected gain 3f2a91c06d11 as in ln-audit.lock, found 91c4d07be2a5`

How to mend: convert again from the model that was locked. If the new values are what is wanted, run
`ln-audit lock TARGET -o ln-audit.lock` again and review what changed in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ln_audit.families.epsilon import mended
from ln_audit.formats.shown import float32, number
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.lock.explaining import Holders
    from ln_audit.lock.schema import Lock, LockedNorm, Parameter, Role

RULE = Rule("LN302", "lock-mismatch")
_SHORT = 12  # digits of a digest: enough for people to compare
_ANOTHER = "another number of layers, or another model"
_NUMBER = re.compile(r"\d+|\{[a-z]+\}")


@dataclass(frozen=True)
class _Both:
    """The artifact and the lock that it is held to."""

    subject: Subject
    lock: Lock

    @property
    def file(self) -> str:
        return self.subject.checkpoint.files[0]

    @cached_property
    def holders(self) -> Holders:
        from ln_audit.lock.explaining import holders

        return holders(self.lock)

    @cached_property
    def since(self) -> str:
        """That the family's table is no longer the one that the lock was made with; empty where it is."""
        from ln_audit.lock.data_version import data_version

        family, readings = self.subject.family, self.subject.readings
        if family is None or self.lock.family != family.name:
            return ""
        now = data_version({each.family.name: each.family for each in readings}.values())
        told = f"the table of {family.name} has changed since {self.lock.where} was made"
        return "" if self.lock.data in (None, now) else told

    @property
    def renewed(self) -> str:
        """How the lock is made anew."""
        return f"if this is what is wanted, `ln-audit lock TARGET -o {self.lock.where}` renews it"

    @cached_property
    def then(self) -> frozenset[str]:
        """The names that the lock has, of whatever layer."""
        return frozenset(_NUMBER.sub("#", norm.name) for norm in self.lock.norms)

    @cached_property
    def now(self) -> frozenset[str]:
        """The names that the family has today, of whatever layer."""
        rows = (row.name for each in self.subject.readings for row in each.family.norms)
        return frozenset(_NUMBER.sub("#", name) for name in rows)

    def left_out(self, stack: str | None, stacks: set[str | None]) -> bool:
        """Whether a stack is missing as a whole, and is none that the family's verdict is about."""
        main = () if self.subject.family is None else self.subject.family.main
        return bool(main) and stack not in main and stack not in stacks


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm that passes and per part that does not; nothing without --lock."""
    lock, file = subject.demand.locked, subject.checkpoint.files[0]
    if lock is None:
        if subject.demand.lock is not None:
            yield RULE.skipped(file, f"{subject.demand.lock} was not read", required=True)
        return
    from ln_audit.lock.holding import offsets
    from ln_audit.same_norm import keyed

    if not subject.norms or (subject.family is None) != (lock.family is None):
        whose = lock.where if lock.family is None else "this artifact"
        told = f"the family of {whose} is not known, so its norms cannot be told by their names: give --family"
        yield RULE.skipped(file, told, required=True)
        return
    both = _Both(subject, lock)
    yield from _files(both)
    found, added = keyed(subject.norms), offsets(subject, lock)
    for locked in lock.norms:
        norm = found.get(locked.key)
        if norm is None:
            yield _gone(locked, both)
        else:
            yield from _held(locked, norm, added[locked.key], both)
    known = {locked.key for locked in lock.norms}
    yield from (_unlocked(norm, both) for key, norm in found.items() if key not in known)


def _held(locked: LockedNorm, norm: Norm, offset: float, both: _Both) -> Iterator[Finding]:
    """One norm: every part that is wrong, else what could not be decided, else a pass."""
    structure = [*_structure(locked, norm, both)]
    parts = [_part(role, part, locked, norm, offset, both) for role, part in locked.parts]
    wrong = [*structure, *(part for part in parts if isinstance(part, Finding) and part.status == "fail")]
    yield from wrong
    if wrong:
        return
    doubts = [part for part in parts if isinstance(part, Finding)]
    if doubts:
        reason = "; ".join(part.reason for part in doubts)
        yield RULE.skipped(norm.name, reason, required=any(part.required for part in doubts))
        return
    right: dict[str, list[str]] = {}  # how they are as locked, and which are so
    for (role, _), how in zip(locked.parts, parts, strict=True):
        if isinstance(how, str):
            right.setdefault(how, []).append(role)
    told = ", ".join(f"{' and '.join(roles)} {how}" for how, roles in right.items())
    yield RULE.passed(norm.name, told or "as locked, without parameters")


def _structure(locked: LockedNorm, norm: Norm, both: _Both) -> Iterator[Finding]:
    """Kind, width and epsilon."""
    where = both.lock.where
    for what, expected, found in (("kind", locked.kind, norm.kind), ("width", locked.width, norm.width)):
        if expected == found:
            continue
        told = f"{both.file}: {norm.name}: expected {what} {expected} as in {where}, found {found}"
        if what == "kind" and both.since:  # it is the table that says it
            yield RULE.skipped(norm.name, f"{told}: {both.since}", required=True)
        else:
            yield RULE.failed(norm.name, told, both.since or both.renewed)
    if norm.eps is None:
        if locked.epsilon is not None:
            yield RULE.skipped(norm.name, f"epsilon is not known: {norm.eps_source}", required=True)
    elif locked.epsilon is None or float32(norm.eps) != float32(locked.epsilon):
        was = "none" if locked.epsilon is None else number(locked.epsilon)
        told = f"{norm.name}: expected epsilon {was} as in {where}, found {number(norm.eps)}"
        if norm.eps_origin == "assumed":
            yield RULE.skipped(norm.name, f"{told}, which is only assumed: give --config or --eps", required=True)
        else:
            reason = "" if locked.epsilon is None else f"it was not handed on: {mended(norm, locked.epsilon)}; "
            yield RULE.failed(norm.name, f"{norm.eps_source}: {told}", reason + both.renewed)


def _part(
    role: Role, part: Parameter | None, locked: LockedNorm, norm: Norm, offset: float, both: _Both
) -> Finding | str | None:
    """How it is as locked, or a failure, or why that is not known; None where there is nothing on both sides."""
    from ln_audit.lock.explaining import explained
    from ln_audit.lock.holding import sameness, values
    from ln_audit.lock.schema import STORED

    subject, where, tensor = both.subject, both.lock.where, norm.gain if role == "gain" else norm.bias
    info = subject.checkpoint.tensors.get(tensor or "")
    if info is None:
        return None if part is None else _lacking(role, part, norm, both)
    told = f"{both.file}: {tensor}: expected {role}"
    if part is None:
        return RULE.failed(norm.name, f"{both.file}: {tensor}: expected no {role} as in {where}, found one")
    if info.elements != part.elements:
        told = f"{told} of {part.elements:,} elements as in {where}, found {info.elements:,}"
        return RULE.failed(norm.name, told, "a part of it, or another model")
    if not part.digests:
        return RULE.skipped(norm.name, f"{where} holds no values of its {role}: lock it with all values", required=True)
    ours = values(subject, norm, role, offset)
    if ours is None:
        read = info.name in subject.values
        why = "is quantized, so no value is exact" if read else "was not read (--values all reads it)"
        return RULE.skipped(norm.name, f"{tensor} {why}", required=True)
    same = sameness(part, ours)
    if same is None:
        told = f"{told} {_digest(part)} as in {where}, found {ours.exact[1][:_SHORT]}"
        return RULE.failed(norm.name, told, f"{explained(both.holders, locked, role, part, ours)}; {both.renewed}")
    return "as locked" if same == "same" else f"as locked after rounding to {STORED[ours.dtype]}, in which it is stored"


def _lacking(role: Role, part: Parameter, norm: Norm, both: _Both) -> Finding:
    """A locked parameter that is not there: a failure, but where it may be there under a name that nobody knows."""
    tensor = (norm.gain if role == "gain" else norm.bias) or f"the {role} of {norm.name}"
    if both.subject.renamed(norm) or norm.doubt:
        return RULE.skipped(norm.name, f"{tensor} is not there under its name", required=True)
    told = f"{both.file}: {tensor}: expected {role} {_digest(part)} as in {both.lock.where}, found no such tensor"
    return RULE.failed(norm.name, told, both.since or both.renewed)


def _gone(locked: LockedNorm, both: _Both) -> Finding:
    """A norm that only the lock has."""
    told = f"{both.file}: {locked.name}: expected the norm as in {both.lock.where}, found none"
    if both.left_out(locked.stack, {norm.stack for norm in both.subject.norms}):
        return RULE.skipped(locked.name, f"{told} of stack {locked.stack}")
    if both.since and _NUMBER.sub("#", locked.name) not in both.now:
        return RULE.skipped(locked.name, f"{told}: {both.since}", required=True)
    return RULE.failed(locked.name, told, both.since or f"{_ANOTHER}; {both.renewed}")


def _unlocked(norm: Norm, both: _Both) -> Finding:
    """A norm that only the artifact has."""
    where = both.lock.where
    if both.left_out(norm.stack, {locked.stack for locked in both.lock.norms}):
        return RULE.skipped(norm.name, f"{where} holds no norm of stack {norm.stack}")
    told = f"{both.file}: {norm.name}: expected no norm that is not in {where}, found it"
    if both.since and _NUMBER.sub("#", norm.promised) not in both.then:
        return RULE.skipped(norm.name, f"{told}: {both.since}", required=True)
    return RULE.failed(norm.name, told, both.since or f"{_ANOTHER}; {both.renewed}")


def _files(both: _Both) -> Iterator[Finding]:
    """The hashes of whole files, which bind only the container that was locked."""
    checkpoint, where = both.subject.checkpoint, both.lock.where
    for file in both.lock.files if both.lock.container == checkpoint.format else ():
        found = both.subject.hashes.get(file.name)
        if found is None:
            there = file.name in checkpoint.files
            why = "its SHA-256 was not worked out: --full does" if there else "locked, and no file of that name is here"
            yield RULE.skipped(file.name, why)
        elif found != file.sha256:
            told = f"{file.name}: expected SHA-256 {file.sha256[:_SHORT]} as in {where}, found {found[:_SHORT]}"
            yield RULE.failed(
                file.name, told, f"something in the file is not as it was locked, be it no norm; {both.renewed}"
            )
        else:
            yield RULE.passed(file.name, "SHA-256 as locked")


def _digest(part: Parameter) -> str:
    return next(iter(part.digests.values()), "")[:_SHORT]
