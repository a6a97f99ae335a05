"""A recording fits, but would have fitted as well if the norm had been wrong in some known way.

What it does: for each recording that agrees with the reference, predicts on its very rows what every known fault would have
given, and asks whether that would have passed too: another epsilon, the variance over d − 1, the other kind of norm, a gain or
bias left out, channels in another order, statistics in bfloat16. Only a fault of which each honest run would have failed counts
as told. It also gives the smallest relative change of a gain and of a bias that would have been seen, and names rows that show
next to nothing: all zero, constant, repeated, a single position. Faults that strike only rows such as were not recorded
(overflow, cancellation at large means) are listed, but count as no gap: on these rows such a run is right.

Why it matters: a pass proves nothing about a fault that would have passed. In rows with a variance of hundreds an epsilon of
1e-6 is the same as one of 1e-5, and whoever concludes from such a recording that the epsilon is right is wrong.

Example: `ln_f against run.safetensors: epsilon: epsilon 1e-06 instead of 1e-05 could have passed too:
no element moves by more than 0.02 % of what rounding explains`

How to mend: record rows that show it: for epsilon, rows of small variance; for RMSNorm instead of LayerNorm, rows whose mean
is not 0. What these rows hide is no failure; --require resolving-power makes it one that keeps the gate closed (exit 3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.resolving_power import summary
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.comparison import Comparison

RULE = Rule("LN202", "resolving-power")


def check(subject: Subject) -> Iterator[Finding]:
    """What each recording that fits can tell passes, what its rows hide is a skip for each hypothesis.

    Where the user's own recording of a norm fits, the packaged one is not asked.
    """
    fits = [each for each in subject.comparisons if each.status == "pass"]
    own = {each.norm for each in fits if not each.packaged}
    if not fits and subject.norms:
        names = ", ".join(norm.name for norm in subject.final()[:3])
        yield RULE.skipped(names, "no recording that fits: nothing to ask what it would have shown")
    for comparison in fits:
        if not (comparison.packaged and comparison.norm in own):
            yield from _findings(comparison, subject)


def _findings(comparison: Comparison, subject: Subject) -> Iterator[Finding]:
    label = f"{comparison.norm} against {comparison.recording}"
    told = summary.by_hypothesis(comparison.can_tell)
    if told:
        evidence = {name: min(float(each["distance"]) for each in entries) for name, entries in told.items()}
        yield RULE.passed(label, f"would have shown {summary.can_tell(comparison)}", **evidence)
    for name, entries in summary.hidden(comparison).items():
        farthest = max(float(each["distance"]) for each in entries)
        reason = f"{summary.listed(entries)} could have passed too: no element moves by more than {summary.of_rounding(farthest)}"
        skip = RULE.skipped(f"{label}: {name}", reason + checked_elsewhere(name, comparison.norm, subject))
        yield replace(skip, evidence={str(each["name"]): float(each["distance"]) for each in entries})
    for flaw in comparison.degenerate:
        yield RULE.skipped(f"{label}: rows", flaw)


def checked_elsewhere(hypothesis: str, norm: str, subject: Subject) -> str:
    """Where epsilon was read, which a recording of large rows cannot confirm; nothing for what only a recording shows."""
    of = next((each for each in subject.norms if each.name == norm), None)
    return summary.source_of_epsilon(of) if hypothesis == "epsilon" and of is not None else ""
