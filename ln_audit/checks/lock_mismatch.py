"""The artifact's norms are not those of the lockfile.

What it does: with --lock, holds every norm to the lockfile, whatever the container: kind, width, epsilon as float32, and gain
and bias by the digest of their effective values. An artifact that stores them in bfloat16 or float16 is held to the values
rounded to that. A norm that is locked and gone, or there and not locked, is a failure; where a whole tower is left out or added
(a vision encoder), it is told.

Why it matters: a lockfile pins what was reviewed. A conversion, a merge or a re-upload under the same name that changes one bit
of one norm no longer passes, and the change is reviewed as a change of that file.

Example: `model.gguf: output_norm.weight: expected gain 3f2a91c06d11 as in ln-audit.lock, found 91c4d07be2a5`

How to mend: convert again from the model that was locked. If the new values are what is wanted, run `ln-audit lock` again and
review what changed in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.formats.shown import float32, number
from ln_audit.lock.schema import STORED
from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.lock.schema import Lock, LockedNorm, Parameter, Role

RULE = Rule("LN302", "lock-mismatch")
_SHORT = 12  # digits of a digest: enough for people to compare


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm that passes and per part that does not; nothing without --lock."""
    lock, file = subject.demand.locked, subject.checkpoint.files[0]
    if lock is None:
        if subject.demand.lock is not None:
            yield RULE.skipped(file, f"{subject.demand.lock} was not read", required=True)
        return
    from ln_audit.lock.holding import offsets
    from ln_audit.lock.naming import keyed

    if not subject.norms or (subject.family is None) != (lock.family is None):
        whose = lock.where if lock.family is None else "this artifact"
        told = f"the family of {whose} is not known, so its norms cannot be told by their names: give --family"
        yield RULE.skipped(file, told, required=True)
        return
    yield from _files(subject, lock)
    found, added = keyed(subject.norms), offsets(subject, lock)
    for locked in lock.norms:
        norm = found.get(locked.key)
        if norm is None:
            yield _gone(locked, subject, lock)
        else:
            yield from _held(locked, norm, added[locked.key], subject, lock)
    known = {locked.key for locked in lock.norms}
    yield from (_unlocked(norm, subject, lock) for key, norm in found.items() if key not in known)


def _held(locked: LockedNorm, norm: Norm, offset: float, subject: Subject, lock: Lock) -> Iterator[Finding]:
    """One norm: every part that is wrong, else what could not be decided, else a pass."""
    wrong = [*_structure(locked, norm, subject, lock)]
    right: dict[str, list[Role]] = {}  # how they are as locked, and which are so
    doubts: list[str] = []
    for role, part in locked.parts:
        finding = _part(role, part, locked, norm, offset, subject, lock)
        if isinstance(finding, Finding):
            wrong.append(finding)
        elif finding is not None:
            if finding[0]:
                right.setdefault(finding[1], []).append(role)
            else:
                doubts.append(finding[1])
    yield from wrong
    if doubts and not any(finding.status == "fail" for finding in wrong):
        unlocked = all(part is None or not part.digests for _, part in locked.parts)
        yield RULE.skipped(norm.name, "; ".join(doubts), required=not unlocked)
    elif not wrong:
        told = ", ".join(f"{' and '.join(roles)} {how}" for how, roles in right.items())
        yield RULE.passed(norm.name, told or "as locked, without parameters")


def _structure(locked: LockedNorm, norm: Norm, subject: Subject, lock: Lock) -> Iterator[Finding]:
    """Kind, width and epsilon."""
    file, since = subject.checkpoint.files[0], _since(subject, lock)
    for what, expected, found in (("kind", locked.kind, norm.kind), ("width", locked.width, norm.width)):
        if expected != found:
            told = f"{file}: {norm.name}: expected {what} {expected} as in {lock.where}, found {found}"
            yield RULE.failed(norm.name, told, since)
    if norm.eps is None and locked.epsilon is not None:
        yield RULE.skipped(norm.name, f"epsilon is not known: {norm.eps_source}", required=True)
    elif norm.eps is not None and locked.epsilon is None:
        told = f"{file}: {norm.name}: expected no epsilon as in {lock.where}, found {number(norm.eps)}"
        yield RULE.failed(norm.name, told, since)
    elif norm.eps is not None and locked.epsilon is not None and float32(norm.eps) != float32(locked.epsilon):
        told = f"{norm.eps_source}: {norm.name}: expected epsilon {number(locked.epsilon)} as in {lock.where}, found {number(norm.eps)}"
        if norm.eps_origin == "assumed":
            yield RULE.skipped(norm.name, f"{told}, which is only assumed: give --config or --eps", required=True)
        else:
            yield RULE.failed(norm.name, told, "the converter did not hand it on, or it was changed since")


def _part(
    role: Role, part: Parameter | None, locked: LockedNorm, norm: Norm, offset: float, subject: Subject, lock: Lock
) -> Finding | tuple[bool, str] | None:
    """A failure; else (whether it is as locked, what is to be told); None where there is nothing on both sides."""
    from ln_audit.lock.explaining import explained
    from ln_audit.lock.holding import sameness, values

    file, tensor = subject.checkpoint.files[0], norm.gain if role == "gain" else norm.bias
    info = subject.checkpoint.tensors.get(tensor or "")
    if info is None:
        return None if part is None else _lacking(role, part, norm, subject, lock)
    if part is None:
        return RULE.failed(norm.name, f"{file}: {tensor}: expected no {role} as in {lock.where}, found one")
    if info.elements != part.elements:
        told = f"{file}: {tensor}: expected {role} of {part.elements:,} elements as in {lock.where}, found {info.elements:,}"
        return RULE.failed(norm.name, told, "a part of it, or another model")
    if not part.digests:
        return False, f"{lock.where} holds no values of its {role}"
    ours = values(subject, norm, role, offset)
    if ours is None:
        read = (
            "is quantized, so no value is exact"
            if info.name in subject.values
            else "was not read (--values all reads it)"
        )
        return False, f"{tensor} {read}"
    same = sameness(part, ours)
    if same is not None:
        note = "" if same == "same" else f" after rounding to {STORED[ours.dtype]}, in which it is stored"
        return True, f"as locked{note}"
    told = f"{file}: {tensor}: expected {role} {_digest(part)} as in {lock.where}, found {ours.exact[1][:_SHORT]}"
    return RULE.failed(norm.name, told, explained(lock, locked, role, part, ours))


def _lacking(role: Role, part: Parameter, norm: Norm, subject: Subject, lock: Lock) -> Finding | tuple[bool, str]:
    """A locked parameter that is not there: a failure, but where it may be there under a name that nobody knows."""
    tensor = (norm.gain if role == "gain" else norm.bias) or f"the {role} of {norm.name}"
    if subject.renamed(norm) or norm.doubt:
        return False, f"{tensor} is not there under its name"
    told = f"{subject.checkpoint.files[0]}: {tensor}: expected {role} {_digest(part)} as in {lock.where}, found no such tensor"
    return RULE.failed(norm.name, told, _since(subject, lock))


def _gone(locked: LockedNorm, subject: Subject, lock: Lock) -> Finding:
    told = f"{subject.checkpoint.files[0]}: {locked.name}: expected the norm as in {lock.where}, found none"
    if _left_out(locked.stack, subject, {norm.stack for norm in subject.norms}):
        return RULE.skipped(locked.name, f"{told} of stack {locked.stack}")
    return RULE.failed(locked.name, told, _since(subject, lock) or "another number of layers, or another model")


def _unlocked(norm: Norm, subject: Subject, lock: Lock) -> Finding:
    file = subject.checkpoint.files[0]
    if _left_out(norm.stack, subject, {locked.stack for locked in lock.norms}):
        return RULE.skipped(norm.name, f"{lock.where} holds no norm of stack {norm.stack}")
    told = f"{file}: {norm.name}: expected no norm that is not in {lock.where}, found it"
    return RULE.failed(norm.name, told, _since(subject, lock) or "another number of layers, or another model")


def _left_out(stack: str | None, subject: Subject, stacks: set[str | None]) -> bool:
    """Whether a stack is missing as a whole, and is none that the family's verdict is about."""
    main = () if subject.family is None else subject.family.main
    return bool(main) and stack not in main and stack not in stacks


def _files(subject: Subject, lock: Lock) -> Iterator[Finding]:
    """The hashes of whole files, which bind only the container that was locked."""
    if lock.container != subject.checkpoint.format:
        return
    for file in lock.files:
        found = subject.hashes.get(file.name)
        if found is None:
            there = file.name in subject.checkpoint.files
            told = (
                "its SHA-256 was not worked out: --full does" if there else "locked, and no file of that name is here"
            )
            yield RULE.skipped(file.name, told)
        elif found != file.sha256:
            told = f"{file.name}: expected SHA-256 {file.sha256[:_SHORT]} as in {lock.where}, found {found[:_SHORT]}"
            yield RULE.failed(file.name, told, "something in the file is not as it was locked, be it no norm")
        else:
            yield RULE.passed(file.name, "SHA-256 as locked")


def _digest(part: Parameter) -> str:
    return next(iter(part.digests.values()), "")[:_SHORT]


def _since(subject: Subject, lock: Lock) -> str:
    """That the family's table is no longer the one that the lock was made with: what it promises may have changed."""
    from ln_audit.lock.data_version import data_version

    readings = {each.family.name: each.family for each in subject.readings}
    if (
        subject.family is None
        or lock.family != subject.family.name
        or lock.data in (None, data_version(readings.values()))
    ):
        return ""
    return f"the table of {lock.family} has changed since {lock.where} was made"
