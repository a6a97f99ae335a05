"""A norm's tensor is there under a name that the model's loader does not look for.

What it does: looks for promised names that are missing under the wrappers that tools leave behind (`module.`,
`_orig_mod.`, …) and under other frameworks' leaf names (`gamma`, `beta`, `scale`). The values are audited all the same.

Why it matters: transformers once renamed every key with gamma or beta and now renames only some; torch.compile and
data-parallel wrappers stay in saved names. The loader reports a missing and an unexpected key, starts the norm at ones and
zeros, and goes on.

Example: `model.safetensors: transformer.ln_f.gamma: expected transformer.ln_f.weight, found another name`

How to mend: rename the key, or strip the prefix, before publishing; the reason says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN004", "wrong-name")


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per misspelt tensor, else one pass that says which spelling the checkpoint uses."""
    misnamed = [(norm, pair) for norm in subject.norms for pair in norm.misnamed]
    for norm, (found, expected) in misnamed:
        yield RULE.failed(
            norm.name,
            f"{subject.checkpoint.files[0]}: {found}: expected {expected}, found another name",
            _remedy(found, expected),
        )
    if misnamed or subject.family is None:
        return
    first = next((name for _, name in subject.present()), None)
    if first is not None:
        yield RULE.passed(subject.checkpoint.files[0], f"names as the loader expects them ({first}, …)")


def _remedy(found: str, expected: str) -> str:
    stem, _, leaf = expected.rpartition(".")
    if found.endswith(expected):
        return f"the loader re-initialises it: strip the prefix {found.removesuffix(expected)!r}"
    if found.rpartition(".")[0] == stem:
        return f"the loader re-initialises it: rename {found.rpartition('.')[2]!r} to {leaf!r}"
    return f"the loader re-initialises it: rename it to {expected}"
