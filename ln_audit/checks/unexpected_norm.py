"""A norm tensor is there that the model, as its config describes it, does not have.

What it does: looks for tensors named like the family's block norms in layers beyond the configured depth, and for a bias
in a family whose norms have none.

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

RULE = Rule("LN003", "unexpected-norm")


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per layer beyond the config's depth, a warning per bias that the family does not have, else one pass."""
    if subject.family is None:
        return
    found = [*_beyond(subject), *_biases(subject)]
    yield from found
    if not found:
        yield RULE.passed(subject.checkpoint.files[0], "no norm tensor beyond what the model has")


def _beyond(subject: Subject) -> Iterator[Finding]:
    if subject.family is None:
        return
    named = view(subject.checkpoint, subject.family.name).actual
    for promise in subject.family.norms:
        if promise.layers is None:
            continue
        depth = len({norm.layer for norm in subject.norms if _of(norm, promise.name)})
        before, _, after = promise.name.partition("{layer}")
        for own, name in named.items():
            layer = layer_of(own, before, f"{after}.weight")
            if layer is not None and layer >= depth:
                yield RULE.failed(
                    name,
                    f"{subject.checkpoint.files[0]}: {name}: expected layers 0 to {depth - 1}, found layer {layer}",
                    "loaders drop it: the config's layer count is too small, or this is another model's file",
                )


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
