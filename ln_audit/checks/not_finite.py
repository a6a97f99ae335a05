"""A norm's gain or bias holds NaN or infinity.

What it does: looks at every value that was read.

Why it matters: one NaN in a norm makes every token NaN. Weights with NaN are published, and loaders say nothing.

Example: `model.safetensors: ln_f.weight: expected finite values, found 1 NaN, first at [3]`

How to mend: the training or conversion step before this file diverged or overflowed; go back to an earlier checkpoint. A
single one that is an ordinary value with one bit turned back was damaged in memory or on disk: download or copy it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN101", "not-finite")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm whose values were read; final norms that could not be read are a required skip."""
    import numpy as np

    for norm in subject.norms:
        names = [name for name in norm.tensors if name in subject.arrays]
        broken = 0
        for name in names:
            values = subject.arrays[name].reshape(-1)
            bad = ~np.isfinite(values)
            if bad.any():
                broken += 1
                nan = int(np.isnan(values).sum())
                infinite = int(bad.sum()) - nan
                told = " and ".join([f"{nan} NaN"] * bool(nan) + [f"{infinite} infinite"] * bool(infinite))
                first = int(bad.argmax())
                yield RULE.failed(
                    norm.name,
                    f"{subject.checkpoint.files[0]}: {name}: expected finite values, found {told}, first at [{first}]",
                    _one_bit(name, first, subject) if nan + infinite == 1 else "",
                    confidence="certain",
                    nan=nan,
                    infinite=infinite,
                    first=first,
                )
        if names and not broken:
            yield RULE.passed(norm.name, "all values finite")
    unread = subject.unread()
    final = {norm.name for norm in subject.final()}
    for norm in unread:
        if norm.name in final:
            yield RULE.skipped(norm.name, "its values could not be read", required=True)
    if others := [norm for norm in unread if norm.name not in final]:
        yield RULE.skipped(f"{len(others)} norms", "values not read; --values all reads them")


def _one_bit(name: str, element: int, subject: Subject) -> str:
    """What a single broken value is with its highest exponent bit turned back, where its tensor has others like it."""
    import numpy as np

    from ln_audit.numerics.exponent_bits import restored

    values = subject.arrays[name].reshape(-1)
    candidates = restored(subject.values[name], element)
    others = np.abs(values[np.isfinite(values)])
    if not candidates or not others.size or not others.min() <= abs(candidates[-1].value) <= others.max():
        return ""
    bit, value = candidates[-1]
    return f"with exponent bit {bit} turned back it is {value:.6g}, an ordinary value here: a flipped bit? download or copy it again"
