"""What a policy does to a call: it adds, and refuses what says otherwise. Nothing but the file itself can weaken it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit import checks, waivers
from ln_audit.errors import UsageError
from ln_audit.printable import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ln_audit.demand import Demand, Policy, Rules
    from ln_audit.lock.schema import Lock
    from ln_audit.result import Finding

# What a policy gives a value and a call may repeat, but not change.
_FIXED = (
    "values", "output_dtype", "before_rounded", "norm", "family", "config", "revision", "against", "lock",
)  # fmt: skip
_PLACES = ("config", "against", "lock")  # of these, which may be spelt otherwise
ALL = "all"
_NEEDS = {"LN301": "against", "LN302": "lock"}  # rules that hold an artifact to something, and by which option or key


def required(names: Iterable[str]) -> frozenset[str]:
    """The ids of the rules that --require names; `all` is every rule. Raises `UsageError` for an unknown one."""
    ids: set[str] = set()
    for name in names:
        ids.update(check.RULE.id for check in checks.CHECKS) if name == ALL else ids.add(checks.find(name).RULE.id)
    return frozenset(ids)


def strict_by(demand: Demand) -> str:
    """By what warnings fail: the policy, or the call; empty where they do not."""
    if demand.policy is not None and demand.policy.rules.strict:
        return f"strict in {demand.policy.path}"
    return "--strict" if demand.strict else ""


def apply(findings: Iterable[Finding], require: frozenset[str], *, strict: str) -> tuple[Finding, ...]:
    """The findings under the policy: a skip of a required rule becomes required; a warning fails by what `strict` names.

    A warning that a waiver accepts does not.
    """
    return tuple(_held(finding, require, strict=strict) for finding in findings)


def _held(finding: Finding, require: frozenset[str], *, strict: str) -> Finding:
    if finding.status == "skip" and finding.rule in require:
        return replace(finding, required=True)
    if finding.status == "warn" and strict and not waivers.waived(finding):
        return replace(
            finding, status="fail", reason=f"{finding.reason}; a warning, failed by {strict}".removeprefix("; ")
        )
    return finding


def held(demand: Demand) -> Demand:
    """The demand with all that its policy asks for. Doing it again changes nothing.

    Raises `UsageError` where the call says otherwise than the policy.
    """
    policy = demand.policy
    if policy is None:
        return demand
    rules = policy.rules
    asked = {name: getattr(rules, name) for name in _FIXED if getattr(rules, name) is not None}
    for name, value in asked.items():
        _same(name, getattr(demand, name), value, policy)
    if rules.against is not None:
        expect = rules.expect or "same"
        _same("expect", demand.expect if demand.against else None, expect, policy)
        asked["expect"] = expect
    return replace(
        demand,
        **asked,
        recordings=tuple(dict.fromkeys((*rules.recordings, *demand.recordings))),
        require=tuple(dict.fromkeys((*rules.require, *demand.require))),
        strict=rules.strict or demand.strict,
    )


def _same(name: str, given: object, asked: object, policy: Policy) -> None:
    if given is None or given == asked:
        return
    from ln_audit.policy.paths import same_place

    if name not in _PLACES or not same_place(str(given), str(asked)):
        option = name.replace("_", "-")
        told = f"--{option}: expected {asked}, as {policy.path} says, found {given}"
        raise UsageError(told, hint="a call adds to the policy and changes nothing in it: leave the option out")


def named(demand: Demand) -> tuple[str, ...]:
    """The policy's own targets, for a call that names none and has no recording that stands for itself."""
    if demand.policy is None or demand.recordings:
        return ()
    return tuple(each.target for each in demand.policy.targets)


def work(demand: Demand, targets: Iterable[str]) -> tuple[tuple[str, Demand], ...]:
    """Each target with what it is held to: those of the call, or the policy's own where it names none.

    A target of the call that the policy names too, or of whose folder it does, is held to all that it says of it; files that
    it names of a folder of the call are verified too. Lockfiles are read here, before anything is opened. Raises `UsageError`.
    """
    called, policy = tuple(targets), demand.policy
    if policy is None:
        return tuple((target, _able(target, demand)) for target in called)
    pairs: list[tuple[str, Demand]] = []
    for target, rules in _called(called, policy) if called else _own(policy, named(demand)):
        pairs.append((target, held(demand) if rules is None else _demand(demand, policy, rules)))
    locks: dict[str, Lock] = {}
    return tuple((target, _with_lock(_able(target, each), locks)) for target, each in pairs)


def _own(policy: Policy, names: Iterable[str]) -> Iterator[tuple[str, Rules]]:
    """The policy's targets of these names; one that it names several times, one time after the other."""
    for target in dict.fromkeys(names):
        yield from ((target, each.rules) for each in policy.targets if each.target == target)


def _called(called: Sequence[str], policy: Policy) -> Iterator[tuple[str, Rules | None]]:
    """What the policy asks of each target of a call; None where it does not name it."""
    from ln_audit.policy import paths

    for target in called:
        asked = [
            own
            for own in policy.targets
            if any(same(target, own.target) for same in (paths.same, paths.within, paths.linked))
        ]
        yield from ((target, own.rules) for own in asked)
        if not asked:
            yield target, None
        for own in policy.targets:
            if paths.within(own.target, target) and not any(paths.same(own.target, other) for other in called):
                yield paths.of_called(own.target, target), own.rules


def _able(target: str, demand: Demand) -> Demand:
    """The same demand. A rule that it requires by name and gives nothing to hold to would be required of nobody: `UsageError`."""
    asked = required(word for word in demand.require if word != ALL)
    for rule, option in _NEEDS.items():
        if rule in asked and getattr(demand, option) is None:
            told = (
                f"{without_secrets(target)}: {checks.find(rule).RULE.name} is required: expected {option}, found none"
            )
            raise UsageError(
                told, hint=f"give --{option}, or name it in the policy under [[target]]; or require it no more"
            )
    return demand


def _demand(demand: Demand, policy: Policy, rules: Rules) -> Demand:
    """The demand under the policy's general rules and those of one target."""
    found = held(replace(demand, policy=replace(policy, rules=_both(policy.rules, rules))))
    if rules.family is not None:
        from ln_audit.families import recognise

        recognise.given(rules.family, policy.families)  # refused now, not when the first targets have been judged
    return found


def _both(general: Rules, own: Rules) -> Rules:
    """A target's own rules on top of the general ones: what is one value is its own, all else adds up."""
    return replace(
        own,
        require=(*general.require, *own.require),
        strict=general.strict or own.strict,
        families=general.families,
        pinned=general.pinned or own.pinned,
        values=own.values or general.values,
        output_dtype=own.output_dtype or general.output_dtype,
        before_rounded=own.before_rounded or general.before_rounded,
        value_digests={**general.value_digests, **own.value_digests},
        file_digests={**general.file_digests, **own.file_digests},
    )


def _with_lock(demand: Demand, locks: dict[str, Lock]) -> Demand:
    """The demand with what its lockfile holds; each file is read once."""
    if demand.lock is None or demand.locked is not None:
        return demand
    from ln_audit.lock.reading import read

    if demand.lock not in locks:
        locks[demand.lock] = read(demand.lock)
    return replace(demand, locked=locks[demand.lock])
