"""One element of a norm has another binary magnitude than everything around it: perhaps a flipped exponent bit.

What it does: holds each stored value against the same channel in the norms of its kind in the other layers and against all
other values of that kind. It speaks only of an element that is 2^7 times (2^10 where there are fewer than four layers) further
out than the fourth most extreme of the whole kind, beyond anything that its channel does in another layer, of the usual sign,
and that is an ordinary value again with one exponent bit turned back. Values that scatter around zero anyway (biases, gains
stored as gain − 1) are judged only for being too large.

Why it matters: a single flipped bit is in no header and in no count, and a gain that is 65,536 times too small or 10^38 times
too large changes every token. But trained norms have outliers of their own, and dead channels that decayed to 1e-30: so this
is a warning and never more. Measured (docs/value-rules.md): not one false alarm on seven real checkpoints (GPT-2 small, MiniLM,
SmolLM2, Gemma 3 and three small ones), on 1,129 pieces of them and on tiny models of 295 types; a flip of one of the upper four
of a gain's eight exponent bits is found in 80 to 96 of 100 places, the bit below in 15. A factor of 2 to 16 is among what
training does, and is found only with a source, a recording or a lockfile.

Example: `model.safetensors: h.3.ln_1.weight[417]: expected about 0.31, found 4.7e-06`

How to mend: compare the file's SHA-256 with the published one, or verify --against the source; then download or copy it again.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.formats.dtypes import array
from ln_audit.result import Confidence, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.numerics.exponent_bits import Restored
    from ln_audit.numerics.lone import Lone

RULE = Rule("LN104", "lone-outlier")
_DEAD = 2.0**-12  # of its tensor's median: where gain and bias are both so small, the channel has died in training


class _Part(NamedTuple):
    """One tensor in a row: the norm, the tensor's name, and the other parameter of the norm."""

    norm: Norm
    name: str
    other: str | None


def check(subject: Subject) -> Iterator[Finding]:
    """A warning per element, else one pass for each kind of norm; what was not read is a skip."""
    rows: dict[tuple[object, ...], list[_Part]] = {}
    for part in _parts(subject):
        stored, norm = subject.values[part.name], part.norm
        kind = (norm.stack, norm.pattern or norm.name, part.name == norm.bias, norm.weight_offset != 0)
        rows.setdefault((*kind, stored.dtype, prod(stored.shape)), []).append(part)
    judged: dict[str, None] = {}
    loud: set[str] = set()
    for parts in rows.values():
        pattern = parts[0].norm.pattern or parts[0].norm.name
        found = list(_row(parts, subject))
        judged[pattern] = None
        loud.update([pattern] * bool(found))
        yield from found
    for pattern in judged:
        if pattern not in loud:
            yield RULE.passed(pattern, "no value that one flipped exponent bit would explain")
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")


def _parts(subject: Subject) -> Iterator[_Part]:
    """Every tensor that was read, once, whose values are the stored ones: floats, a vector of the norm's width."""
    from ln_audit.numerics.exponent_bits import exponent_bits

    seen: set[str] = set()
    for norm in subject.norms:
        for name, other in ((norm.gain, norm.bias), (norm.bias, norm.gain)):
            if name is None or name in seen or name not in subject.arrays:
                continue
            seen.add(name)
            stored, size = subject.values[name], prod(subject.values[name].shape)
            fits = size and size == max(stored.shape, default=0) and norm.width in {None, size}
            if stored.exact and fits and exponent_bits(stored.dtype):
                yield _Part(norm, name, other)


def _row(parts: list[_Part], subject: Subject) -> Iterator[Finding]:
    """What stands alone among the same tensors of all layers."""
    import numpy as np

    from ln_audit.numerics.exponent_bits import restored
    from ln_audit.numerics.lone import NEIGHBOURS, lone, quiet

    rows = [array(subject.values[part.name]).reshape(-1) for part in parts]
    if quiet(rows):  # as most rows of most models
        return
    around_zero = parts[0].name == parts[0].norm.bias or parts[0].norm.weight_offset != 0
    for each in lone(rows, small=not around_zero):
        part, value = parts[each.layer], float(rows[each.layer][each.channel])
        beside = [float(r[each.channel]) for r in rows] if len(parts) >= NEIGHBOURS else rows[each.layer].astype(float)
        if not around_zero and np.sign(np.median(beside)) != np.sign(value):
            continue  # training took it across zero; a flipped exponent bit leaves the sign alone
        if abs(value) < each.expected and _dead(part.other, each.channel, subject):
            continue
        back = _ordinary(restored(subject.values[part.name], each.channel), each)
        if back is not None:
            yield _found(part, each, value, back, subject, alone=len(parts) < NEIGHBOURS)


def _dead(other: str | None, channel: int, subject: Subject) -> bool:
    """Whether the norm's other parameter is next to nothing in this channel too."""
    import numpy as np

    if other is None or other not in subject.arrays:
        return False
    sizes = np.abs(subject.arrays[other].reshape(-1))
    return bool(channel < sizes.size and sizes[channel] < _DEAD * np.median(sizes))


def _ordinary(candidates: Iterable[Restored], place: Lone) -> Restored | None:
    """The restored value that raises no question here, the nearest to what is expected, if there is one."""
    low, high = place.ordinary
    fitting = [each for each in candidates if low <= abs(each.value) <= high]
    ratios = {each: max(abs(each.value) / place.expected, place.expected / abs(each.value)) for each in fitting}
    return min(fitting, key=ratios.__getitem__, default=None)


def _found(part: _Part, place: Lone, value: float, back: Restored, subject: Subject, *, alone: bool) -> Finding:
    confidence: Confidence = "possible" if alone else "likely"
    where = "in the rest of its tensor" if alone else "in the other layers"
    return RULE.warned(
        part.norm.name,
        f"{subject.checkpoint.files[0]}: {part.name}[{place.channel}]: expected about {abs(place.expected):.2g}, found {value:.6g}",
        f"with exponent bit {back.bit} turned back it is {back.value:.6g}, as {where}: a flipped bit?"
        " `ln-audit verify TARGET --against SOURCE` tells",
        confidence=confidence,
        channel=place.channel,
        found=value,
        restored=back.value,
        bit=back.bit,
        octaves_apart=round(place.gap, 2),
    )
