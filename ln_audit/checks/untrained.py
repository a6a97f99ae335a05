"""A norm is still at its initial values (gain all ones, bias all zeros), or its gain is another constant.

What it does: compares every norm whose values were read with the initial values of its kind, and says so where all norms of a
layer or of the model are there. A gain that is one constant other than 1 is a warning too; where the constant is a multiple of
1/k, it says which.

Why it matters: ones are what a loader leaves behind when it did not find the norm, and what a converter writes that lost it; an
average or a sum over k checkpoints or shards of which some had lost it leaves a multiple of 1/k. It is only a suspicion:
rotation quantizers fold the gain into the next matrix on purpose, and several published OPT models really have gains of one
(with trained biases, which is why those are no warning here).

Example: `model.safetensors: model.norm.weight: expected trained values, found gain all 1 and bias all 0`

How to mend: hold it to its source (`ln-audit verify TARGET --against SOURCE`), or give a recording: it decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.formats.dtypes import unit_roundoff
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN103", "untrained")
_COMPARE = "`ln-audit verify TARGET --against SOURCE` tells"
_MOST_PARTS = 16  # the largest k of 1/k: shards and averaged checkpoints are seldom more


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm whose gain (and bias, where it has one) was read."""
    if subject.family is None:  # a norm that the caller or a recording describes: ones may be its point
        return
    constants = {norm.name: value for norm in subject.norms if (value := _constant(norm, subject)) is not None}
    initial = {norm.name for norm in subject.norms if constants.get(norm.name) == 1 and not _biased(norm, subject)}
    for norm in subject.norms:
        if norm.gain is None or norm.gain not in subject.arrays or subject.arrays[norm.gain].size == 0:
            continue
        if norm.name in initial:
            biased = norm.bias in subject.arrays
            found = "gain all 1 and bias all 0" if biased else "gain all 1"
            tensors = f"{norm.gain} and {norm.bias}" if biased else norm.gain
            yield RULE.warned(
                norm.name,
                f"{subject.checkpoint.files[0]}: {tensors}: expected trained values, found {found}",
                f"{_extent(norm, initial, subject)}re-initialised by a loader, or folded into the next matrix on purpose?"
                f" {_COMPARE}",
                confidence="possible",
            )
        elif constants.get(norm.name, 1.0) not in {0.0, 1.0}:  # zeros are zero-gain's
            yield _other_constant(norm, constants, subject)
        else:
            trained = "gain all 1, bias trained" if norm.name in constants else "away from its initial values"
            yield RULE.passed(norm.name, "all 0, see zero-gain" if constants.get(norm.name) == 0 else trained)
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")


def _constant(norm: Norm, subject: Subject) -> float | None:
    """The one value that all effective gains of a norm have; None where they differ, are no numbers or are one alone."""
    import math

    gain = None if norm.gain is None else subject.arrays.get(norm.gain)
    if gain is None or gain.size < 2 or not (gain == gain.flat[0]).all():
        return None
    value = float(gain.flat[0]) + norm.weight_offset
    return value if math.isfinite(value) else None


def _biased(norm: Norm, subject: Subject) -> bool:
    bias = None if norm.bias is None else subject.arrays.get(norm.bias)
    return bias is not None and bool(bias.any())


def _extent(norm: Norm, initial: set[str], subject: Subject) -> str:
    """How far it reaches, as the beginning of a reason: the whole model, the whole layer, or nothing beyond this norm."""
    read = [each for each in subject.norms if each.gain in subject.arrays]
    if len(read) > 1 and all(each.name in initial for each in read):
        return f"all {len(read)} norms are so, as in a model that was never trained or never loaded: "
    layer = [each for each in read if norm.layer is not None and (each.stack, each.layer) == (norm.stack, norm.layer)]
    if len(layer) > 1 and all(each.name in initial for each in layer):
        return f"all {len(layer)} norms of layer {norm.layer} are so: was the layer lost? "
    return ""


def _other_constant(norm: Norm, constants: Mapping[str, float], subject: Subject) -> Finding:
    value = constants[norm.name]
    part = _fraction(value, subject.values[norm.gain or ""].dtype)
    told = "" if part is None else f", {part}"
    same = sum(each == value for each in constants.values())
    also = f"{same} norms have it: " if same > 1 else ""
    return RULE.warned(
        norm.name,
        f"{subject.checkpoint.files[0]}: {norm.gain}: expected trained gains, found all {value:.6g}{told}",
        f"{also}an average or a sum of checkpoints or shards of which some had lost it, a wrong offset, or an initial value of its"
        f" own? {_COMPARE}",
        confidence="likely" if same == 1 else "possible",
        constant=value,
    )


def _fraction(value: float, dtype: str) -> str | None:
    """`3/8: a multiple of 1/8`, for the smallest k that fits within the dtype's rounding; None where none does."""
    near = unit_roundoff(dtype) * abs(value)  # what a third may be away from 1/3
    for parts in range(1, _MOST_PARTS + 1):
        if near * parts > 1 / 16:
            return None  # of this size everything is near to a multiple
        count = round(value * parts)
        if count and abs(value - count / parts) <= near:
            return f"{count} times 1" if parts == 1 else f"{count}/{parts}: a multiple of 1/{parts}"
    return None
