"""A norm tensor is there that the model, as its config describes it, does not have.

What it does: looks for tensors named like the family's block norms in layers beyond the configured depth, for a bias in a
family whose norms have none, and for a norm that is there twice, under two names that a loader accepts.

Why it matters: loaders drop what they do not expect. If the config says 11 layers and the file holds 12, the last layer is
silently cut off; a bias on an RMSNorm is the sign of the wrong architecture or a converter's mistake.

Example: `model.safetensors: h.12.ln_1.weight: expected layers 0 to 11 (config.json: n_layer), found layer 12`

How to mend: correct the layer count in the config, or save the model that the config describes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.containers import view
from ln_audit.families.sizes import layer_of
from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.families.containers import View

RULE = Rule("LN003", "unexpected-norm")
_MOST_NAMED = 100  # layers beyond the depth that are named; one is enough to fail


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per layer beyond the config's depth, a warning per bias that the family does not have, else one pass."""
    if subject.family is None or not subject.norms:  # which norms there should be is not known
        return
    named = view(subject.checkpoint, subject.family.name)
    found = [*_beyond(subject, named), *_biases(subject), *_copies(subject), *_strange(subject, named)]
    yield from found
    if not found:
        yield RULE.passed(subject.checkpoint.files[0], "no norm tensor beyond what the model has")


def _beyond(subject: Subject, named: View) -> Iterator[Finding]:
    count = 0
    for promise in subject.family.norms if subject.family is not None else ():
        if promise.layers is None:
            continue
        depth = len({norm.layer for norm in subject.norms if _of(norm, promise.name)})
        before, _, after = promise.name.partition("{layer}")
        for own, name in named.actual.items():
            layer = layer_of(own, before, f"{after}.weight")
            if layer is not None and layer >= depth:
                count += 1
                if count > _MOST_NAMED:
                    continue
                yield RULE.failed(
                    name,
                    f"{subject.checkpoint.files[0]}: {name}: expected layers 0 to {depth - 1}, found layer {layer}",
                    "loaders drop it: the config's layer count is too small, or this is another model's file",
                )


def _copies(subject: Subject) -> Iterator[Finding]:
    """The same norm under two names: which of them a loader takes is not ours to guess."""
    for norm in subject.norms:
        for taken, other in norm.copies:
            named = f"{subject.checkpoint.files[0]}: {other}: expected one tensor for {norm.name}, found {taken} too"
            if taken not in subject.values or other not in subject.values:
                yield RULE.skipped(
                    other, f"stands for {norm.name} beside {taken}; their values were not read", required=True
                )
            elif subject.values[taken] == subject.values[other]:
                yield RULE.warned(other, f"{named}, with the same values", "remove one of the two")
            else:
                yield RULE.failed(
                    other, f"{named}, with other values", "loaders differ in which one they take: remove one"
                )


def _strange(subject: Subject, named: View) -> Iterator[Finding]:
    """A norm's name of another container: this one's loaders refuse the file, or never look at the tensor."""
    if subject.family is None:
        return
    tensors, file = subject.checkpoint.tensors, subject.checkpoint.files[0]
    for name in named.uncovered:
        slot = name.rpartition("/")[0] in tensors  # what an optimizer keeps beside a parameter
        if len(tensors[name].shape) == 1 and not slot and any(word in name.lower() for word in ("norm", "ln_")):
            told = f"{file}: {name}: expected only names that {subject.checkpoint.format} has for {subject.family.name}"
            yield RULE.warned(name, f"{told}, found another norm", "its loaders do not take it: convert again")


def _of(norm: Norm, pattern: str) -> bool:
    return norm.layer is not None and norm.promised == pattern.replace("{layer}", str(norm.layer))


def _biases(subject: Subject) -> Iterator[Finding]:
    for norm in subject.norms:
        name = None if norm.gain is None else norm.gain.removesuffix(".weight") + ".bias"
        if norm.bias is None and name in subject.checkpoint.tensors:
            yield RULE.warned(
                norm.name,
                f"{subject.checkpoint.files[0]}: {name}: expected no bias ({norm.kind}), found one",
                "loaders drop it: is this the family that the config names?",
            )
