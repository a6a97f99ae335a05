"""What is checked: one rule per file, named for the defect. `CHECKS` is the registry, in the order of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ln_audit.checks import (
    differs_from_source,
    digest_mismatch,
    duplicate_norm,
    expired_waiver,
    known_values,
    lock_mismatch,
    lone_outlier,
    missing_norm,
    not_allowed,
    not_finite,
    off_reference,
    other_weights,
    parameter_count,
    resolving_power,
    shard_index,
    stored_dtype,
    unexpected_norm,
    untrained,
    unusual_offset,
    wrong_convention,
    wrong_epsilon,
    wrong_name,
    wrong_shape,
    zero_gain,
)
from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.checks.subject import Subject
    from ln_audit.report import Finding, Rule


class Check(Protocol):
    """A module of this folder: its docstring is the rule's document."""

    __doc__: str | None
    __name__: str
    RULE: Rule

    def check(self, subject: Subject) -> Iterable[Finding]:
        """Findings on one checkpoint; never raises for what the checkpoint holds."""


CHECKS: tuple[Check, ...] = (
    missing_norm,
    wrong_shape,
    unexpected_norm,
    wrong_name,
    parameter_count,
    shard_index,
    stored_dtype,
    wrong_epsilon,
    wrong_convention,
    not_finite,
    zero_gain,
    untrained,
    lone_outlier,
    duplicate_norm,
    unusual_offset,
    known_values,
    off_reference,
    resolving_power,
    other_weights,
    differs_from_source,
    lock_mismatch,
    expired_waiver,
    not_allowed,
    digest_mismatch,
)


def find(rule: str) -> Check:
    """The check with this id or name (LN001, missing-norm). Raises `UsageError` for an unknown one."""
    for check in CHECKS:
        if rule.lower() in (check.RULE.id.lower(), check.RULE.name):
            return check
    known = ", ".join(f"{check.RULE.id} {check.RULE.name}" for check in CHECKS)
    raise UsageError(f"rule {rule!r}: expected one of {known}")


def run(subject: Subject) -> tuple[Finding, ...]:
    """Every check on one checkpoint, in the order of `CHECKS`."""
    return tuple(finding for check in CHECKS for finding in check.check(subject))
