"""The stored gains of all norms look as if they were of the other convention than the family's.

What it does: some families store gain − 1 (Gemma 1 to 3, Qwen3-Next, Nemotron), most store the gain. A trained gain is
seldom negative, and gain − 1 often is. So it counts the norms whose gains are below 0 in more than a quarter of the channels:
10 % of them, and two, are unusual for gains. In a family that has the convention it also counts the gains below 1: less than
1 % of all, in less than 5 % of the norms a quarter of the channels, and gains that are typically above 1.15 (a model that was
hardly trained has 1.02) are unusual there. A model of fewer than four norms is not judged.

Why it matters: an export that forgot the one, or added it twice, has the right names, shapes and counts, and every gain is off
by exactly 1. But statistics alone are ambiguous, so this is a warning with both readings and never more. None of the seven
real checkpoints of docs/value-rules.md is misjudged as it is. Of their norms 0 to 1.6 % have that many gains below 0; with 1
taken away 17 % (Gemma 3) to 100 % have, but for one model whose gains hardly moved from 1, of which nothing is said. Where it
was added once more, fewer than 1 % of the gains are below 1 in every one of them.

Example: `model.safetensors: gains: expected gain − 1 (gemma2), found next to none of the 105 norms' gains below 1`

How to mend: compare with the source (--against), or give a recording: it decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN106", "unusual-offset")
_QUARTER = 0.25
_FEW, _MANY = 0.05, 0.10  # of the norms; between the two nothing is said
_HARDLY_ANY = 0.01  # of all values
_MOVED = (
    0.15  # above 1; measured: gains plus one are typically at 1.27 and more, a model that was hardly trained at 1.03
)
_FEWEST = 4  # norms


class _Signs(NamedTuple):
    """How many norms there are, of how many more than a quarter is negative, and the share of all values that is."""

    norms: int
    quarter: int
    share: float


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per convention among the norms; nothing where too few were read, or no family promises one."""
    if subject.family is None:
        return
    own = {promise.name: promise.weight_offset for reading in subject.readings for promise in reading.promises()}
    groups: dict[tuple[float, float], list[Norm]] = {}
    for norm in subject.norms:
        if norm.gain is not None and norm.gain in subject.arrays:
            offset = own.get(norm.pattern, norm.weight_offset)
            groups.setdefault((norm.weight_offset, offset), []).append(norm)
    for (stored, usual), norms in groups.items():
        if len(norms) >= _FEWEST:
            yield _judge(subject, norms, stored, usual)
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")


def _judge(subject: Subject, norms: Sequence[Norm], stored: float, usual: float) -> Finding:
    """Norms of one convention: `stored` is what the model adds to what the container holds, `usual` the family's own."""
    family = "" if subject.family is None else subject.family.name
    file, label = subject.checkpoint.files[0], f"{len(norms)} norms"
    convention = f"gain − {stored:g}" if stored else "gains"
    gains = _signs(subject, norms, stored)
    if gains.quarter >= max(2, _MANY * gains.norms):
        return RULE.warned(
            label,
            f"{file}: gains: expected {convention} ({family}), found gains below 0 in a quarter of the channels of"
            f" {gains.quarter} of {gains.norms} norms",
            f"either 1 is missing from each (it holds gain − {stored + 1:g}), or the model's gains really are so: give a recording"
            " or --against",
            confidence="possible",
            norms=gains.norms,
            quarter_negative=gains.quarter,
        )
    less = _signs(subject, norms, stored - 1) if usual else None
    rare = less is not None and less.quarter < _FEW * less.norms and less.share < _HARDLY_ANY
    if less is not None and rare and _typical(subject, norms, stored - 1) > _MOVED:
        return RULE.warned(
            label,
            f"{file}: gains: expected {convention} ({family}), found next to none of the {less.norms} norms' gains below 1",
            "either 1 was added once too often (or never taken away), or the model's gains really are so: give a recording or"
            " --against",
            confidence="possible",
            norms=less.norms,
            below_one=less.share,
        )
    return RULE.passed(label, f"stored values are as usual for {convention}")


def _signs(subject: Subject, norms: Sequence[Norm], offset: float) -> _Signs:
    """The signs of stored + offset; tensors without values count as norms without negative ones."""
    import numpy as np

    negative, total, quarter = 0, 0, 0
    for norm in norms:
        values = subject.arrays[norm.gain or ""]
        below = int(np.count_nonzero(values < -offset))
        negative, total = negative + below, total + values.size
        quarter += below > _QUARTER * values.size
    return _Signs(len(norms), quarter, negative / max(1, total))


def _typical(subject: Subject, norms: Sequence[Norm], offset: float) -> float:
    """What stored + offset is in the middle channel of the middle norm."""
    from ln_audit.numerics.median import median

    return float(median([median(subject.arrays[norm.gain or ""]) for norm in norms])) + offset
