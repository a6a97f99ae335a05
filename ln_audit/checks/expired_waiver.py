"""A waiver of the policy is over.

What it does: compares the last day of every `[[waiver]]` in the policy with today. An expired one is a failure and waives
nothing, whether or not there is still something to waive.

Why it matters: a waiver is a promise to look again. One that lasts for ever is a check that was switched off.

Example: `ln-audit.toml: waiver of LN102 for h.3.ln_1: expected a day that is not over, found 2026-03-31`

How to mend: mend the norm and take the waiver out, or look at it again and give it a new day and a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN303", "expired-waiver")


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per expired waiver. Never a pass: a policy in order proves nothing about the artifact."""
    policy = subject.demand.policy
    for waiver in () if policy is None else policy.waivers:
        if policy is not None and policy.expired(waiver):
            told = f"waiver of {waiver.rule} for {waiver.norm}: expected a day that is not over, found {waiver.until}"
            yield RULE.failed(
                waiver.norm, f"{policy.path}: {told}", f"it waives nothing any more; it said: {waiver.reason}"
            )
