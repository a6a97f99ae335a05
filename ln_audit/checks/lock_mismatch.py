"""The artifact's norms are not those of the lockfile.

What it does: this version does not read lockfiles yet. Asking for it with --lock makes the verdict incomplete, so that a
gate which relies on it stays closed.

Why it matters: a lockfile pins what was reviewed.

Example: `ln-audit verify OUT --lock ln-audit.lock`

How to mend: verify without --lock, and pin the revision with --revision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN302", "lock-mismatch")


def check(subject: Subject) -> Iterator[Finding]:
    """A skip that the verdict depends on, when --lock was given."""
    if subject.demand.lock is not None:
        yield RULE.skipped(
            subject.checkpoint.files[0], f"this version cannot read {subject.demand.lock}", required=True
        )
