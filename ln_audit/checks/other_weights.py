"""A recording was made with other weights than the target's.

What it does: compares the digests of gain and bias that a recording carries with the target's own, as stored and after the
casts that an honest run makes (the model cast to bfloat16 or float16).

Why it matters: a recording of another revision, another fine-tune or another model says nothing about this norm. It must be
said first, and never be taken for a fault of the norm.

Example: `run.safetensors: gain_value_sha256: expected 3f2a… (ln_f of this target), found 91bc…`

How to mend: name the checkpoint that the recording was made with. Record again only where this checkpoint is known to be the right
one (--against SOURCE): a recording of a broken norm agrees with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN203", "other-weights")
_WAY = (
    "the recording is of another model, or this norm was changed since: --against SOURCE tells;"
    " record again only if this checkpoint is the right one"
)


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per recording of other weights; the packaged recording is merely left aside."""
    if not subject.comparisons and subject.requires(RULE):
        yield RULE.skipped(subject.checkpoint.files[0], "required, and there is no recording", required=True)
    for comparison in subject.comparisons:
        label = f"{comparison.norm} against {comparison.recording}"
        if comparison.finding == "other-weights" and comparison.packaged:
            yield RULE.skipped(label, comparison.message)
        elif comparison.finding == "other-weights":
            yield RULE.failed(label, comparison.message, _WAY)
        elif comparison.weights == "same":
            yield RULE.passed(label, "recorded with these weights, by their digests")
        else:
            yield RULE.skipped(label, "it carries no digests of the weights that it was recorded with")
