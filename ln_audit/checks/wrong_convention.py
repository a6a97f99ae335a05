"""The artifact says that it is of another family, kind or convention than the caller holds it to.

What it does: compares --family, --kind, --offset and --config with what the artifact's own config and its family's table
say, and looks for keys that its config writes twice.

Why it matters: the caller's word is used for comparisons, so that a mistaken claim in the artifact can be audited at all;
but an artifact that claims otherwise will be loaded by its own claim.

Example: `config.json: model_type: expected gpt2 (--family), found llama`

How to mend: correct the config, or the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.formats.shown import shown
from ln_audit.report import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.families.schema import Family

RULE = Rule("LN009", "wrong-convention")


def check(subject: Subject) -> Iterator[Finding]:
    """A finding per claim of the caller that the artifact could contradict; none when the caller claims nothing."""
    demand, family = subject.demand, subject.family
    if family is None:
        return
    yield from _configs(subject, family)
    for where, expected, found in subject.claims:
        yield RULE.failed(where, f"{where}: expected {expected}, found {shown(found)}", "recorded from another norm?")
    model_type = None if subject.config is None else subject.config.get("model_type")
    if demand.family is not None and model_type is not None:
        where = f"{subject.config.where if subject.config else ''}: model_type"
        if model_type in family.model_types:
            yield RULE.passed(where, f"{model_type} is of family {family.name}")
        else:
            told = f"{where}: expected {family.name} (--family), found {str(model_type)[:60]!r}"
            yield RULE.failed(where, told, "a family of your own is a table: --family FILE.toml, see docs/families.md")
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


def _configs(subject: Subject, family: Family) -> Iterator[Finding]:
    """The keys that the norms depend on: the same in the artifact's own config as in --config, and written once."""
    sizes = [key for size in family.sizes.values() for key in (size.key, *size.aliases)]
    keys = ("model_type", *sizes, *family.epsilon.keys)
    own, given = subject.own_config, subject.config
    for key in keys if own is not None and given is not None else ():
        if own is not None and given is not None and own.has(key) and given.has(key) and own.get(key) != given.get(key):
            told = f"{own.where}: {key}: expected {shown(given.get(key))} (--config), found {shown(own.get(key))}"
            yield RULE.failed(f"{own.where}: {key}", told, "it will be loaded by its own config")
    for config in (own, given):
        for key in config.repeated if config is not None else ():
            if key in keys and config is not None:
                told = f"{config.where}: {key}: expected once, found several times"
                yield RULE.warned(
                    f"{config.where}: {key}", told, "the last counts here; another reader may take the first"
                )
