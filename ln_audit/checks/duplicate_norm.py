"""Two norms of a model are identical to the bit.

What it does: compares the stored gains of all norms of one width. Gains that are constant, or have so few different values
that chance could put them in the same order, are left out: what remains has at least 2^64 possible orders, and no two trained
norms share one.

Why it matters: a converter that reads the wrong index writes one layer's norm twice, a merge copies a block, a final norm is
filled from the last block. Every shape and every count is right. It is a warning: depth up-scaling and passthrough merges
repeat whole layers on purpose.

Example: `model.safetensors: h.5.ln_1: expected values of its own, found those of h.4.ln_1 bit for bit (gain and bias)`

How to mend: compare both with the source checkpoint; if the model was built by repeating layers, waive it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ln_audit.result import Confidence, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN105", "duplicate-norm")
_ORDERS = (
    64.0  # log2; ten thousand norms make 2^26 pairs, so one in 2^38 such models would have an equal pair by chance
)


def check(subject: Subject) -> Iterator[Finding]:
    """A warning per norm that repeats an earlier one, else one pass; nothing where only one gain was read."""
    first: dict[tuple[str, bytes], Norm] = {}
    tensors: set[str] = set()
    repeats: list[tuple[Norm, Norm]] = []
    for norm in subject.norms:
        if norm.gain is None or norm.gain not in subject.values or norm.gain in tensors:
            continue  # a norm that several places share is one tensor, and no copy
        tensors.add(norm.gain)
        stored = subject.values[norm.gain]
        earlier = first.setdefault((stored.dtype, stored.data), norm)
        if earlier is not norm and orders(subject.arrays[norm.gain]) >= _ORDERS:
            repeats.append((norm, earlier))
    for norm, earlier in repeats:
        yield _copied(norm, earlier, repeats, subject)
    if not repeats and len(tensors) > 1:
        yield RULE.passed(subject.checkpoint.files[0], f"no two of {len(tensors)} norms have the same trained gain")
    if unread := subject.unread():
        yield RULE.skipped(f"{len(unread)} norms", "values not read; --values all reads them")


def orders(values: np.ndarray[Any, Any]) -> float:
    """log2 of the number of different orders that these values can stand in: 0 for a constant tensor."""
    import numpy as np

    _, counts = np.unique(values, return_counts=True)
    nats = math.lgamma(values.size + 1) - sum(math.lgamma(count + 1) for count in counts.tolist())
    return nats / math.log(2)


def _copied(norm: Norm, earlier: Norm, repeats: list[tuple[Norm, Norm]], subject: Subject) -> Finding:
    """One repeated norm: whether its bias is the same too, and whether its whole layer is a copy."""
    biases = [subject.values.get(each.bias) for each in (norm, earlier) if each.bias is not None]
    what = "gain" if not biases else "gain and bias" if len(biases) == 2 and biases[0] == biases[1] else "gain only"
    confidence: Confidence = "possible" if norm.pattern and norm.pattern == earlier.pattern else "likely"
    reason = "read or written from the wrong place? compare both with the source"
    if confidence == "possible" and norm.layer is not None and _whole_layer(norm, earlier, repeats, subject):
        reason = (
            f"all norms of layer {norm.layer} are those of layer {earlier.layer}: a copied layer; right only where the "
            "model was built by repeating layers"
        )
    told = f"found those of {earlier.name} bit for bit ({what})"
    return RULE.warned(
        norm.name,
        f"{subject.checkpoint.files[0]}: {norm.name}: expected values of its own, {told}",
        reason,
        confidence=confidence,
        copy_of=earlier.name,
    )


def _whole_layer(norm: Norm, earlier: Norm, repeats: list[tuple[Norm, Norm]], subject: Subject) -> bool:
    """Whether every norm of a layer that was read is that of the other layer."""
    layer = {each.name for each in subject.norms if _of(each, norm) and each.gain in subject.values}
    copied = {one.name for one, other in repeats if _of(one, norm) and _of(other, earlier)}
    return len(layer) > 1 and layer == copied


def _of(norm: Norm, place: Norm) -> bool:
    return (norm.stack, norm.layer) == (place.stack, place.layer)
