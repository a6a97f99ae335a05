"""A norm is still at its initial values: gain all ones and bias all zeros.

What it does: compares every norm whose values were read with the initial values of its kind.

Why it matters: this is what a loader leaves behind when it did not find the norm, and what a converter writes that lost
it. It is only a suspicion: rotation quantizers fold the gain into the next matrix on purpose, and several published OPT
models really have gains of one (with trained biases, which is why those are no warning here).

Example: `model.safetensors: model.norm: expected trained values, found gain all 1 and bias all 0`

How to mend: compare with the source checkpoint, or give a recording: it decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN103", "untrained")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm whose gain (and bias, where it has one) was read."""
    if subject.family is None:  # a norm that the caller or a recording describes: ones may be its point
        return
    for norm in subject.norms:
        gain = None if norm.gain is None else subject.arrays.get(norm.gain)
        if gain is None or gain.size == 0:
            continue
        ones = bool((gain + norm.weight_offset == 1).all())
        bias = None if norm.bias is None else subject.arrays.get(norm.bias)
        if ones and (bias is None or not bias.any()):
            found = "gain all 1" if bias is None else "gain all 1 and bias all 0"
            yield RULE.warned(
                norm.name,
                f"{subject.checkpoint.files[0]}: {norm.name}: expected trained values, found {found}",
                "re-initialised by a loader, or folded into the next matrix on purpose? compare with the source",
            )
        else:
            yield RULE.passed(norm.name, "gain all 1, bias trained" if ones else "away from its initial values")
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")
