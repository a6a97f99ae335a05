"""A call, before anything is opened: what contradicts itself is refused, what it names is read."""

from __future__ import annotations

import os
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Literal, cast

from ln_audit.demand import DTYPES, KINDS, Demand
from ln_audit.errors import UsageError
from ln_audit.lock import with_lock
from ln_audit.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TRY = "for example `ln-audit verify path/to/folder`, or `ln-audit verify sample`"


def demand(options: Mapping[str, object]) -> Demand:
    """What a call of the library asks for, by the options of `verify`; None is one that was not given. Raises `UsageError`."""
    from ln_audit import arguments

    given = arguments.options(options)
    given["recordings"] = given.pop("recording", ())
    given["values"], given["expect"] = values(given.get("values")), expect(given.get("expect"), given.get("against"))
    return Demand(**given)


def under_policy(demand: Demand, targets: Sequence[str], policy_file: str | None = None) -> Demand:
    """The demand with the policy that the call names, or with that of the working directory, whose targets stand for none given.

    Raises `UsageError`, as `sound` does.
    """
    from ln_audit import policy

    demand = replace(demand, policy=policy.read(".", policy_file))
    return sound(demand, targets or policy.named(demand))


def sound(demand: Demand, targets: Sequence[str]) -> Demand:
    """The demand with what its lockfile holds.

    Raises `UsageError` for a call that contradicts itself, before anything is opened.
    """
    from ln_audit import policy

    policy.required(demand.require)
    _check_values(demand)
    _check_targets(demand, targets)
    return with_lock(demand)


def _check_values(demand: Demand) -> None:
    """Values that no audit could use."""
    for option, dtype in (("--output-dtype", demand.output_dtype), ("--before-rounded", demand.before_rounded)):
        if dtype is not None and dtype not in DTYPES:
            raise UsageError(f"{option}: expected one of {', '.join(DTYPES)}, found {dtype!r}")
    if (demand.before is None) != (demand.after is None):
        raise UsageError("--before and --after: expected both or neither, found one")
    if demand.eps is not None and not 0 < demand.eps < inf:
        raise UsageError(f"--eps: expected a positive number, found {demand.eps!r}")
    if demand.kind is not None and demand.kind not in KINDS:
        raise UsageError(
            f"--kind: expected layer_norm or rms_norm, found {demand.kind!r}", hint=did_you_mean(demand.kind, KINDS)
        )
    if demand.config is not None and not os.path.isfile(demand.config):  # noqa: PTH113 - False for what can be no path
        raise UsageError(f"--config {demand.config}: expected a file, found none")
    if demand.full and demand.offline:
        raise UsageError("--full and --offline: expected one of them, found both")


def _check_targets(demand: Demand, targets: Sequence[str]) -> None:
    """What belongs to one target needs one; a recording that carries its own norm needs none."""
    if not targets and (not demand.recordings or demand.before is not None):
        told = "targets: expected a target, or a recording that carries its own norm, found neither alone"
        raise UsageError(told, hint=_TRY if demand.policy is None else f"{demand.policy.path} names no target either")
    carried = {"--family": demand.family, "--config": demand.config, "--full": demand.full, "--norm": demand.norm}
    carried["--lock"] = demand.lock
    unused = [option for option, value in carried.items() if value and not targets]
    if unused:
        raise UsageError(f"{unused[0]}: expected a target that it applies to, found none")
    single = {
        "--recording": demand.recordings,
        "--before": demand.before,
        "--norm": demand.norm,
        "--config": demand.config,
        "--eps": demand.eps,
    }
    given = [option for option, value in single.items() if value]
    if len(targets) > 1 and given:
        raise UsageError(f"{given[0]}: expected one target, found {len(targets)}")


def expect(text: str | None, against: str | None) -> Literal["same", "derived"]:
    """What --expect was given. Raises `UsageError` for another word, or without --against."""
    if text not in (None, "same", "derived"):
        raise UsageError(f"--expect: expected same or derived, found {text!r}")
    if text is not None and against is None:
        raise UsageError("--expect: expected --against, which it belongs to, found none")
    return "derived" if text == "derived" else "same"


def values(text: str | None) -> Literal["final", "all"] | None:
    """What --values was given. Raises `UsageError`."""
    if text not in (None, "final", "all"):
        raise UsageError(f"--values: expected final or all, found {text!r}")
    return cast("Literal['final', 'all'] | None", text)
