"""The number of norm parameters is not what the model's width asks for.

What it does: counts the elements of each final norm's gain and bias, and of all norms together, from the checkpoint's
tensors (never from metadata), and checks them against the configured width.

Why it matters: 768 + 768 = 1,536 is the accounting that papers, budgets and parameter reports rest on. Counting from the
width would confirm itself; counting from the tensors sees a half, an empty or a doubled one.

Example: `model.safetensors: ln_f: expected 1,536 parameters (2 × 768), found 1,152`

How to mend: see wrong-shape and missing-norm, which name the tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN005", "parameter-count")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per final norm and one over all norms."""
    final = tuple(norm for norm in subject.norms if norm.role == "final")
    for norm in final:
        yield _judge(subject, [norm], norm.name)
    if len(subject.norms) > len(final):
        yield _judge(subject, subject.norms, f"all {len(subject.norms)} norms")


def _judge(subject: Subject, norms: Sequence[Norm], label: str) -> Finding:
    tensors = subject.checkpoint.tensors
    expected, found, parts = 0, 0, []
    for norm in norms:
        if norm.doubt and not any(name in tensors for name in norm.tensors):
            return RULE.skipped(label, f"whether the model has {norm.name} at all is not known")
        if subject.renamed(norm):
            return RULE.skipped(label, f"the parameters of {norm.name} are there under no name that the family knows")
        for name in norm.tensors:
            if name not in tensors:
                if name == norm.bias and norm.bias_optional:
                    continue
            else:
                found += tensors[name].elements
                parts.append(f"{'gain' if name == norm.gain else 'bias'} {tensors[name].elements:,}")
            if norm.width is None:
                return RULE.skipped(label, f"the model's width is unknown: {norm.width_source}")
            expected += norm.width
    if found != expected:
        return RULE.failed(
            label,
            f"{subject.checkpoint.files[0]}: {label}: expected {expected:,} parameters, found {found:,}",
            expected=expected,
            found=found,
        )
    detail = f" ({' + '.join(parts)})" if len(norms) == 1 else ""
    return RULE.passed(label, f"{found:,} parameters{detail}, counted from checkpoint tensors", found=found)
