"""A norm's parameters are stored in a dtype that norms do not survive, or that does not fit together.

What it does: looks at the dtype of every norm tensor in the header. Where values were read and float32 ones are all exact in
bfloat16, it says so and passes: the model was trained so, or was stored in bfloat16 on its way.

Why it matters: norms are one part in thousands of a model's bytes, and every sane quantizer leaves them alone. A norm in
an integer, 8-bit or 4-bit float type was quantized by accident; a gain and a bias in different dtypes were not written by
one program.

Example: `model.safetensors: model.norm.weight: expected F32, BF16, F16 or F64, found I8`

How to mend: exclude the norms from quantization and convert again from the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN007", "stored-dtype")
_FLOATS = ("F32", "BF16", "F16", "F64")
_DISTINCT = 12  # values; that so many float32 numbers end in 16 zero bits by chance has a probability of 2^-192


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm that is there."""
    tensors, file = subject.checkpoint.tensors, subject.checkpoint.files[0]
    for norm in subject.norms:
        dtypes = {name: tensors[name].dtype for name in norm.tensors if name in tensors}
        quantized = {name: dtype for name, dtype in dtypes.items() if dtype not in _FLOATS}
        for name, dtype in quantized.items():
            yield RULE.failed(
                norm.name,
                f"{file}: {name}: expected F32, BF16, F16 or F64, found {dtype}",
                "a quantized norm: leave the norms out of quantization and convert again",
            )
        if quantized or not dtypes:
            continue
        if len(set(dtypes.values())) > 1:
            told = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
            yield RULE.warned(
                norm.name, f"{file}: {norm.name}: expected one dtype, found {told}", "cast both to one dtype"
            )
        elif _from_bfloat16(dtypes, subject):
            told = "F32, every value exact in bfloat16: trained in it, or cast to it on the way"
            yield RULE.passed(norm.name, told, confidence="certain", exact_in="bfloat16")
        else:
            yield RULE.passed(norm.name, next(iter(dtypes.values())))


def _from_bfloat16(names: Iterable[str], subject: Subject) -> bool:
    """Whether float32 tensors hold nothing but bfloat16 values, and enough different ones that it is no accident."""
    stored = [subject.values.get(name) for name in names]
    read = [each.data for each in stored if each is not None and each.exact and each.dtype == "F32"]
    if len(read) < len(stored) or not read:
        return False
    import numpy as np

    held = [np.frombuffer(data, "<u4") for data in read]
    if any((bits & 0xFFFF).any() for bits in held):
        return False
    return len(np.unique(np.concatenate(held))) >= _DISTINCT
