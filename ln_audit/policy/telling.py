"""`ln-audit policy check`: what a policy asks for, in words, and what of it never applies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.checks import find
from ln_audit.demand import Demand
from ln_audit.errors import LnAuditError, UsageError
from ln_audit.policy.applying import ALL, work
from ln_audit.policy.found import OWN, PROJECT, read
from ln_audit.policy.taken_for import doubt, taken_for
from ln_audit.printable import one_line, without_secrets
from ln_audit.sources import hub_target, source_of
from ln_audit.sources.hub_cache import COMMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.demand import Policy, PolicyTarget, Rules

SCHEMA = Path(__file__).with_name("policy.schema.json")
_MOST_NAMED = 8
_BEGIN = f'begin one with a line `targets = ["path/to/folder"]` in {OWN}; `ln-audit policy schema` has all keys'


def schema() -> str:
    """The JSON Schema of a policy, as it ships."""
    return SCHEMA.read_text(encoding="utf-8")


def told(folder: str, file: str | None) -> str:
    """What the policy asks for. Raises `UsageError` for one that is wrong, and where there is none.

    A lockfile, a config or a family that it names must be there and right; a target is not opened.
    """
    policy = read(folder, file)
    if policy is None:
        raise UsageError(f"policy: expected {OWN}, or [tool.ln-audit] in {PROJECT}, found neither here", hint=_BEGIN)
    for target, demand in work(Demand(policy=policy), ()):
        if demand.config is not None and not os.path.isfile(demand.config):  # noqa: PTH113
            raise UsageError(f"{policy.path}: config of {target}: expected a file, found none at {demand.config}")
    warnings = [f"  ! {one_line(each)}" for each in _warnings(policy)]
    count = f", {len(warnings)} warning{'s' * (len(warnings) > 1)}" if warnings else ""
    lines = [
        f"OK{count}  {one_line(policy.path)}, SHA-256 {policy.sha256}",
        *(f"  {one_line(each)}" for each in _asked(policy)),
    ]
    return "\n".join([*lines, *(["warnings:", *warnings] if warnings else [])]) + "\n"


def _asked(policy: Policy) -> Iterator[str]:
    rules = policy.rules
    if rules.families is not None:
        yield f"families: only {_listing(rules.families)}"
    if rules.pinned:
        yield "revisions: a model on the Hub must be given by its commit"
    yield from _shared(rules)
    if policy.families:
        yield f"families of its own: {_listing(tuple(policy.families))}"
    for waiver in policy.waivers:
        yield f"waiver: {find(waiver.rule).RULE.name} of {waiver.norm} until {waiver.until}: {waiver.reason}"
    yield f"targets: {len(policy.targets)}"
    for each in policy.targets:
        yield f"  {without_secrets(each.target)} ({taken_for(each.target, each.rules.revision)})"
        yield from (f"    {line}" for line in _of_target(each.rules))


def _of_target(rules: Rules) -> Iterator[str]:
    for label, value in (
        ("revision", rules.revision),
        (
            "held to the norms of",
            rules.against and f"{without_secrets(rules.against)} ({taken_for(rules.against, None)})",
        ),
        ("as a model trained further", "yes" if rules.expect == "derived" else None),
        ("held to the lock", rules.lock),
        ("held to the family", rules.family),
        ("config", rules.config),
        ("norm of its recordings", rules.norm),
    ):
        if value is not None:
            yield f"{label}: {value}"
    if rules.pinned:
        yield "revisions: it must be given by its commit"
    if rules.commits:
        yield f"revisions: only {_listing(rules.commits)}"
    if rules.recordings:
        yield f"recordings: {_listing(rules.recordings)}"
    yield from _shared(rules)


def _shared(rules: Rules) -> Iterator[str]:
    if rules.require:
        names = (ALL if rule == ALL else find(rule).RULE.name for rule in rules.require)
        yield f"required: {', '.join(names)}: where one is skipped, the verdict is incomplete"
    if rules.strict:
        yield "strict: warnings fail"
    if rules.values is not None:
        yield "values: those of all norms are read"
    if rules.output_dtype is not None:
        yield f"recordings hold results stored in {rules.output_dtype}"
    if rules.before_rounded is not None:
        yield f"recordings hold inputs rounded to {rules.before_rounded}"
    for what, digests in (("parameters", rules.value_digests), ("files", rules.file_digests)):
        if digests:
            yield f"digests of {what}: {_listing(tuple(digests))}"


def _warnings(policy: Policy) -> Iterator[str]:
    """What never applies, or will fail whatever the artifact is."""
    yield from policy.unread()
    if not policy.targets:
        yield "no targets: `ln-audit verify` without a target is a usage error, never a pass"
    for waiver in policy.waivers:
        if policy.expired(waiver):
            name = find(waiver.rule).RULE.name
            yield f"waiver of {name} for {waiver.norm}: over since {waiver.until}: it waives nothing and fails (LN303)"
    allowed = policy.rules.families
    for name in policy.families if allowed is not None else ():
        if name not in (allowed or ()):
            yield f"family.{name}: described, and not among the allowed `families`"
    for each in policy.targets:
        yield from (f"{without_secrets(each.target)}: {told}" for told in _never(each, policy))


def _never(each: PolicyTarget, policy: Policy) -> Iterator[str]:
    rules, on_hub = each.rules, source_of(each.target) == "hub"
    if told := doubt(each.target):
        yield f"taken for {taken_for(each.target, rules.revision)}; {told}"
    if told := "" if rules.against is None else doubt(rules.against):
        yield f"against: {without_secrets(rules.against or '')} taken for {taken_for(rules.against or '', None)}; {told}"
    if rules.commits and not on_hub:
        yield "revisions: this is no model on the Hub and has no commit: it will fail (LN304)"
    if on_hub and (rules.pinned or policy.rules.pinned):
        try:
            asked = hub_target.parse(each.target, rules.revision).revision or ""
        except LnAuditError as error:
            yield error.message
            return
        if COMMIT.fullmatch(asked) is None:
            yield f"revisions: it is given by {asked or 'no revision'}, not by its commit: it will fail (LN304)"
    for path in rules.recordings:
        if not os.path.lexists(path):
            yield f"recordings: no file {path} is there now"


def _listing(words: tuple[str, ...]) -> str:
    more = f" and {len(words) - _MOST_NAMED:,} more" if len(words) > _MOST_NAMED else ""
    return f"{', '.join(words[:_MOST_NAMED])}{more}"
