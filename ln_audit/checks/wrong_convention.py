"""The artifact says that it is of another family, kind or convention than the caller holds it to.

What it does: compares --family, --kind and --offset with what the artifact's config and its family's table say.

Why it matters: the caller's word is used for comparisons, so that a mistaken claim in the artifact can be audited at all;
but an artifact that claims otherwise will be loaded by its own claim.

Example: `config.json: model_type: expected gpt2 (--family), found llama`

How to mend: correct the config, or the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject

RULE = Rule("LN009", "wrong-convention")


def check(subject: Subject) -> Iterator[Finding]:
    """A finding per claim of the caller that the artifact could contradict; none when the caller claims nothing."""
    demand, family = subject.demand, subject.family
    if family is None:
        return
    model_type = None if subject.config is None else subject.config.get("model_type")
    if demand.family is not None and model_type is not None:
        where = f"{subject.config.where if subject.config else ''}: model_type"
        if model_type in family.model_types:
            yield RULE.passed(where, f"{model_type} is of family {family.name}")
        else:
            yield RULE.failed(where, f"{where}: expected {family.name} (--family), found {str(model_type)[:60]!r}")
    kinds = {promise.kind for promise in family.norms}
    if demand.kind is not None:
        if kinds == {demand.kind}:
            yield RULE.passed(family.name, f"kind {demand.kind}")
        else:
            yield RULE.failed(
                family.name, f"{family.name}: kind: expected {demand.kind} (--kind), found {', '.join(sorted(kinds))}"
            )
    offsets = {promise.weight_offset for promise in family.norms}
    if demand.offset is not None:
        if offsets == {demand.offset}:
            yield RULE.passed(family.name, f"offset {demand.offset:g}")
        else:
            told = ", ".join(f"{offset:g}" for offset in sorted(offsets))
            yield RULE.failed(
                family.name, f"{family.name}: gain offset: expected {demand.offset:g} (--offset), found {told}"
            )
