"""A recording of the norm's input and output does not fit the float64 reference.

What it does: applies the norm, as the checkpoint and the config define it, to the recorded input in float64 and holds every
recorded output element against it. The tolerance is derived per element from the number format, the width and the row's
own magnitude; for narrow outputs every element must also lie in its rounding cell. Nothing is tuned.

Why it matters: this is what the model really computed. A wrong epsilon, the variance over d − 1, a gain without its + 1, a
state that was already normed: none of them is visible in the checkpoint, and all of them are here.

Example: `after.npy: [0, 3] channel 138: expected 1.732 ± 2e-07, found 1.5 (1.2e+06 times the tolerance)`

How to mend: the message says where it is worst. Record again with `before` taken right before the norm, in the dtype in
which it read it (--before-rounded if it was rounded later), or correct the implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.comparison import Comparison

RULE = Rule("LN201", "off-reference")
_NORMED = "normed twice? hidden_states[-1] of transformers is after the final norm: record its input with a hook"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per comparison that was made; for the user's own recordings a skip makes the verdict incomplete."""
    if not subject.comparisons and subject.norms:
        names = ", ".join(norm.name for norm in subject.final()[:3])
        given = bool(subject.demand.recordings or subject.demand.before or subject.demand.record)
        told = (
            "the recording given could not be used"
            if given
            else "no recorded hidden states: give --recording FILE, or --before and --after"
        )
        yield RULE.skipped(names, told)
    for comparison in subject.comparisons:
        if comparison.finding != "other-weights":
            yield _judge(comparison)
        elif comparison.status == "fail":  # other-weights says it; what the norm computed is still not known
            label = f"{comparison.norm} against {comparison.recording}"
            yield RULE.skipped(label, "recorded with other weights: what the norm computed of them was not judged")


def _judge(comparison: Comparison) -> Finding:
    label = f"{comparison.norm} against {comparison.recording}"
    match comparison.status:
        case "pass" if comparison.blind:
            told = f"it fits, and says nothing of what the norm computed: {comparison.blind}"
            return RULE.skipped(label, told, required=not comparison.packaged)
        case "pass":
            return RULE.passed(label, comparison.message, max_error_ratio=comparison.max_error_ratio)
        case "warn":
            reason = _NORMED if comparison.finding == "already-normed" else comparison.finding
            return RULE.warned(label, comparison.message, reason, max_error_ratio=comparison.max_error_ratio)
        case "fail":
            return RULE.failed(
                label, comparison.message, _cause(comparison), max_error_ratio=comparison.max_error_ratio
            )
        case _:
            return RULE.skipped(label, comparison.message, required=not comparison.packaged)


def _cause(comparison: Comparison) -> str:
    if comparison.explained_by:
        return comparison.explained_by[0].advice
    if comparison.finding == "nonfinite-input":
        return "the fault lies upstream of this norm"
    return ""
