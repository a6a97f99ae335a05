"""A norm's effective gain is exactly zero in some or all channels.

What it does: counts zeros of stored gain + offset. It also counts negative gains, which are no fault, and says so where it
passes.

Why it matters: a zero gain makes its channel dead, and at least one training stack turns it into NaN. Single zeros are
legal (merges leave them, and training does: 46 of the 109 norms of Gemma 3 270M have some); a norm that is all zeros passes no
signal at all.

Example: `model.safetensors: model.norm.weight: expected gains other than 0, found 2 of 64 at [5, 17]`

How to mend: look at the merge or pruning step that made them; all zeros is a tensor that was never filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN102", "zero-gain")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm whose gain was read: a warning for single zeros, a failure when all are zero."""
    import numpy as np

    for norm in subject.norms:
        gain = None if norm.gain is None else subject.arrays.get(norm.gain)
        if gain is None or gain.size == 0:
            continue
        zeros = np.flatnonzero(gain + norm.weight_offset == 0)
        named = f"{subject.checkpoint.files[0]}: {norm.gain}: expected gains other than 0"
        if zeros.size == gain.size:
            yield RULE.failed(
                norm.name,
                f"{named}, found all {gain.size} zero",
                "it passes no signal at all, only its bias: a tensor that was never filled?",
                confidence="certain",
            )
        elif zeros.size:
            first = ", ".join(str(channel) for channel in zeros[:5]) + (", …" if zeros.size > 5 else "")
            yield RULE.warned(
                norm.name,
                f"{named}, found {zeros.size} of {gain.size} at [{first}]",
                "these channels are dead",
                confidence="possible",
                zeros=int(zeros.size),
            )
        elif negative := int(np.count_nonzero(gain < -norm.weight_offset)):
            told = f"no gain is zero; {negative:,} of {gain.size:,} are negative"
            yield RULE.passed(norm.name, told, confidence="certain", negative=negative)
        else:
            yield RULE.passed(norm.name, "no gain is zero")
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")
