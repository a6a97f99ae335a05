"""A norm's tensor has another shape than the model's width asks for.

What it does: compares the shape of every gain and bias, from the header, with the width in the config (or, without a
config, in the embeddings), and names what leaves such a shape: which sharding, or a q or k norm over one head instead of all.

Why it matters: sharded training saves halves, eighths and empty placeholders under the right names. The file is valid, and
an uploaded final norm of 2,560 instead of 5,120 elements, or of shape [0], is published and noticed by others.

Example: `model.safetensors: model.norm.weight: expected shape [16], found [8]`

How to mend: gather before saving (zero_to_fp32 for ZeRO-3, a full state dict for FSDP), or merge the shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN002", "wrong-shape")
_TENSOR_PARALLEL = (2, 4, 8, 16, 32)


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
        right = ((norm.width,), norm.split or (norm.width,))
        wrong = [(name, shape) for name, shape in found if (_squeezed(shape) if in_graph else shape) not in right]
        for name, shape in wrong:
            yield RULE.failed(
                norm.name,
                f"{subject.checkpoint.files[0]}: {name}: expected shape [{norm.width}] ({norm.width_source}), found {list(shape)}",
                _cause(shape, norm, subject),
            )
        if not wrong:
            yield RULE.passed(norm.name, f"shape [{norm.width}] ({norm.width_source})")


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[-1:] if all(extent == 1 for extent in shape[:-1]) else shape


def _cause(shape: tuple[int, ...], norm: Norm, subject: Subject) -> str:
    """What leaves such a shape behind."""
    width = norm.width or 0
    if 0 in shape:
        return (
            "a placeholder of ZeRO-3, or of FSDP where another rank holds it: gather before saving (zero_to_fp32, full"
            " state dict)"
        )
    elements = shape[0] if len(shape) == 1 else 0
    if norm.role == "qk" and elements and (told := _heads(elements, width, subject)):
        return told
    if elements and elements < width and width % elements == 0:
        return _shards(width // elements)
    if len(shape) > 1 and width in shape:
        return "stacked layers or an extra axis; a norm's parameters are one-dimensional"
    return "another model's norm, or a config of another width"


def _shards(count: int) -> str:
    """Tensor parallelism divides among the devices of a machine, FSDP and sharded optimizers among any number."""
    if count in _TENSOR_PARALLEL:
        kind = f"tensor parallel of {count}, or FSDP (DTensor) over {count} ranks"
    else:
        kind = f"FSDP (DTensor) over {count} ranks"
    return f"one of {count} shards saved as if it were whole ({kind})? gather or merge before saving"


def _heads(found: int, width: int, subject: Subject) -> str:
    """A q or k norm is over one head or over all of them together, and families differ; empty where neither fits."""
    hidden = next(
        (reading.sizes["hidden_size"].value for reading in subject.readings if "hidden_size" in reading.sizes), None
    )
    if found > width and width and found % width == 0:
        whole = ", which is hidden_size" if found == hidden else ""
        return (
            f"{found // width} heads of {width} in one norm{whole}, where the family has one norm of the width of a head for"
            " all: another family, or another head_dim"
        )
    if found < width and width % found == 0:
        count = width // found
        whole = ", which is hidden_size," if width == hidden else ""
        return (
            f"a norm over one head of {found}, where the family's is over all {count} together{whole}: another family?"
            f" or {_shards(count)}"
        )
    if found == hidden:
        return "the width of hidden_size where a head's was expected: another family, or another head_dim"
    return ""
