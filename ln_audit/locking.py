"""`ln-audit lock`: a target is audited as ever, and what passes is written down."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit import account, policy
from ln_audit.audit import failure, followed, judged, steps, unopened
from ln_audit.errors import AuditError, UsageError
from ln_audit.examination import opened
from ln_audit.formats import find_artifacts
from ln_audit.lock import file_hashes, reading
from ln_audit.lock.schema import DEFAULT_FILE, NAME, Lock
from ln_audit.printable import one_line
from ln_audit.result import Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.demand import Demand

__all__ = ["DEFAULT_FILE", "Locking", "former", "made", "told"]

_MOST_NAMED = 4
_BEGINNING = 2_000  # bytes of a file in which a lock says what it is


@dataclass(frozen=True, slots=True)
class Locking:
    """The audit, and the lock of what it found; None where it did not pass."""

    report: Report
    lock: Lock | None


def made(target: str, demand: Demand) -> Locking:
    """The lock of a target's one artifact.

    Never raises for what the target holds. Raises `UsageError` for a wrong call, or for a target of several artifacts.
    """
    demand = policy.held(demand)
    require = policy.required(demand.require)
    source = None
    try:
        source = opened(target, demand)
        artifact, *others = find_artifacts(source)
        if others:
            raise _several(target, [artifact.file, *(each.file for each in others)])
        subject, error = followed(steps(source, artifact, demand, None))
        report = judged(source, subject, error, demand, require)
        if subject is None or report.verdict is not Verdict.PASS:
            return Locking(report, None)
        hashes = file_hashes.known(source, subject.checkpoint.files, full=demand.full)
    except AuditError as problem:
        told = unopened(target) if source is None else account.source_report(source)
        return Locking(Report(told, error=failure(problem)), None)
    from ln_audit.lock.making import locked

    return Locking(report, locked(subject, source.kind, hashes))


def _several(target: str, files: Sequence[str]) -> UsageError:
    named = ", ".join(files[:_MOST_NAMED]) + (", …" if len(files) > _MOST_NAMED else "")
    folder = target.rstrip("/")
    return UsageError(
        f"{target}: expected one artifact, found {len(files)} ({named})",
        hint=f"each has a lock of its own: ln-audit lock {folder}/{files[0]} --output {files[0]}.lock",
    )


def former(path: str) -> Lock | None:
    """The lock that a path holds already; None where there is none, or one that cannot be read any more.

    Raises `UsageError` where something else is there: a mistaken name must not cost a model.
    """
    if os.path.exists(path) and Path(os.path.realpath(path)).is_fifo():  # noqa: PTH110 - what a shell makes of a process has no such name, and a reader
        raise UsageError(
            f"--output {one_line(path)}: expected a lockfile to renew, or no file, found a pipe", hint="-o -"
        )
    if not os.path.isfile(path):  # noqa: PTH113 - a name that is no path is none
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            beginning = file.read(_BEGINNING)
    except OSError:
        return None  # writing says what is wrong
    if beginning and f"{NAME}/".encode() not in beginning:
        raise UsageError(f"--output {one_line(path)}: expected a lockfile to renew, or no file, found another file")
    try:
        return reading.read(path)
    except UsageError:
        return None


def told(locking: Locking, lock: Lock, path: str, before: Lock | None) -> str:
    """What was written, and what is new in it."""
    report = locking.report
    warnings = sum(finding.status == "warn" for finding in report.findings)
    also = f", {warnings} warning{'s' * (warnings != 1)}: see `ln-audit verify {one_line(report.source.spec)}`"
    count = sum(norm.parameters for norm in lock.norms)
    lines = [
        f"LOCKED  {one_line(report.source.spec)} → {one_line(path)}",
        f"  {len(lock.norms):,} norms, {count:,} parameters{also * (warnings > 0)}",
    ]
    if before is not None:
        lines.append(f"  {_changes(lock, before)}")
    return "\n".join(lines) + "\n"


def _changes(lock: Lock, before: Lock) -> str:
    old, new = ({norm.key: norm for norm in each.norms} for each in (before, lock))
    changed = [norm.name for key, norm in new.items() if old.get(key) != norm]
    changed += [norm.name for key, norm in old.items() if key not in new]
    if not changed:
        return "no norm has changed since it was last written"
    more = ", …" if len(changed) > _MOST_NAMED else ""
    return f"changed since it was last written: {len(changed):,} norms ({', '.join(changed[:_MOST_NAMED])}{more})"
