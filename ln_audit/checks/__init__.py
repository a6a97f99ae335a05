"""What is checked: one rule per file, named for the defect. `CHECKS` is the registry, in the order of reports."""

from __future__ import annotations

import inspect
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
from ln_audit.formats.shown import shown
from ln_audit.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.checks.subject import Subject
    from ln_audit.result import Finding, Rule


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
    spellings = [spelling for check in CHECKS for spelling in (check.RULE.name, check.RULE.id)]
    near = did_you_mean(rule, spellings)
    hint = " ".join(filter(None, (near, "`ln-audit explain` lists them")))
    raise UsageError(f"rule {shown(rule)}: expected a rule's id or name, found none of that name", hint=hint)


def document(check: Check) -> str:
    """A rule's document: what it does, why it matters, an example, how it is mended."""
    return inspect.cleandoc(check.__doc__ or "")


def summary(check: Check) -> str:
    """The first sentence of a rule's document."""
    return document(check).split("\n\n")[0].replace("\n", " ")


def run(subject: Subject) -> tuple[Finding, ...]:
    """Every check on one checkpoint, in the order of `CHECKS`."""
    return tuple(finding for check in CHECKS for finding in check.check(subject))
