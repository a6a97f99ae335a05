"""The artifact's norms are not those of its source.

What it does: this version does not compare artifacts yet. Asking for it with --against makes the verdict incomplete, so
that a gate which relies on it stays closed.

Why it matters: conversions, merges and quantizers must hand the norms on unchanged, in the artifact's own convention.

Example: `ln-audit verify OUT --against SOURCE`

How to mend: verify both on their own, and give a recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN301", "differs-from-source")


def check(subject: Subject) -> Iterator[Finding]:
    """A skip that the verdict depends on, when --against was given."""
    if subject.demand.against is not None:
        yield RULE.skipped(
            subject.checkpoint.files[0], f"this version cannot compare with {subject.demand.against}", required=True
        )
