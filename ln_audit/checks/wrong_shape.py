"""A norm's tensor has another shape than the model's width asks for.

What it does: compares the shape of every gain and bias, from the header, with the width in the config (or, without a
config, in the embeddings).

Why it matters: sharded training saves halves, eighths and empty placeholders under the right names. The file is valid, and
an uploaded final norm of 2,560 instead of 5,120 elements, or of shape [0], is published and noticed by others.

Example: `model.safetensors: model.norm.weight: expected shape [16], found [8]`

How to mend: gather before saving (zero_to_fp32 for ZeRO-3, a full state dict for FSDP), or merge the shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN002", "wrong-shape")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm that is there; a width that nothing tells is a skip the verdict depends on."""
    final = subject.final()
    for norm in subject.norms:
        found = [
            (name, subject.checkpoint.tensors[name].shape)
            for name in norm.tensors
            if name in subject.checkpoint.tensors
        ]
        if not found:
            continue
        if norm.width is None:
            told = f"the model's width is unknown: {norm.width_source}"
            yield RULE.skipped(norm.name, told, required=norm in final)
            continue
        in_graph = bool(
            subject.checkpoint.norm_sites
        )  # a graph may hold a gain as [1, 1, n], which broadcasts the same
        wrong = [(name, shape) for name, shape in found if (_squeezed(shape) if in_graph else shape) != (norm.width,)]
        for name, shape in wrong:
            yield RULE.failed(
                norm.name,
                f"{subject.checkpoint.files[0]}: {name}: expected shape [{norm.width}] ({norm.width_source}), found {list(shape)}",
                _cause(shape, norm.width),
            )
        if not wrong:
            yield RULE.passed(norm.name, f"shape [{norm.width}] ({norm.width_source})")


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[-1:] if all(extent == 1 for extent in shape[:-1]) else shape


def _cause(shape: tuple[int, ...], width: int) -> str:
    """What leaves such a shape behind."""
    if 0 in shape:
        return "a ZeRO-3 or FSDP placeholder: gather before saving (zero_to_fp32, full state dict)"
    elements = shape[0] if len(shape) == 1 else 0
    if elements and elements < width and width % elements == 0:
        return f"one of {width // elements} shards saved as if it were whole? gather or merge before saving"
    if len(shape) > 1 and width in shape:
        return "stacked layers or an extra axis; a norm's parameters are one-dimensional"
    return "another model's norm, or a config of another width"
