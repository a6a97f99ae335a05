"""`verify` for other programs: pytest, a trainer, a script that saves. The same call, and Reports instead of an exit code."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ln_audit import arguments, call
from ln_audit.demand import Demand
from ln_audit.errors import LnAuditError, UsageError
from ln_audit.printable import did_you_mean, one_line
from ln_audit.result import leads

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from ln_audit.result import Finding, Report

_NOT_OPTIONS = {"policy", "locked", "record", "progress", "live", "recordings"}
_SHOWN = 8  # lines of what failed that a message of one line may name


class VerdictError(LnAuditError):
    """What was verified did not pass; `reports` are all of its reports."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.reports = tuple(reports)
        super().__init__(told(reports), hint=way_out(reports))


def verified(target: str | os.PathLike[str], /, *, live: Any = None, **options: Any) -> tuple[Report, ...]:
    """The reports on one target, as `ln-audit verify TARGET` makes them, under the policy of the working directory.

    `options` are those of the command line: `against`, `lock`, `recording` and `require` (a word or a list), `strict`,
    `values`, `family`, `eps`, … `live` is a torch model in memory that the target is held to, instead of `against`.
    A target that the policy names too is held to all that it says of it, and reported once for each time.

    Never raises for what the target holds. Raises `UsageError` for a call that contradicts itself.
    """
    from ln_audit import policy
    from ln_audit.audit import audited

    name = arguments.word("target", target)
    asked = demand(name, live=live, **options)
    return audited(policy.work(asked, [name]), asked)


def demand(target: str, /, *, live: Any = None, **options: Any) -> Demand:
    """What `verified` would hold a target to. Opens no target. Raises `UsageError`."""
    return call.under_policy(_demand(options, live), [target])


def without_model(options: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a model among the options of what takes it as an argument of its own."""
    if "live" in options:
        raise UsageError("option: expected the model in its own place, found live among the options")


def passed(reports: Sequence[Report]) -> bool:
    """Whether all of them pass; none at all do not."""
    return bool(reports) and all(report.verdict == 0 for report in reports)


def told(reports: Sequence[Report]) -> str:
    """The verdicts on one line, with what failed or is missing first."""
    return "; ".join(_told(report) for report in _worst_first(reports)[:_SHOWN]) or "nothing was verified"


def text(reports: Sequence[Report]) -> str:
    """The reports as `verify` prints them."""
    from ln_audit.reports import text as written
    from ln_audit.reports.document import Run, exit_code

    return written.render(Run(tuple(reports), exit_code(reports)))


def way_out(reports: Sequence[Report]) -> str:
    """Of the first that does not pass, what its error or its first failure says to do; else where all of it can be read."""
    first = next(iter(_worst_first(reports)), None)
    bad = [] if first is None else _bad(first)
    own = ""
    if first is not None and first.error is not None:
        own = first.error.hint
    elif bad and bad[0].status == "fail":
        own = bad[0].reason
    return own or "see .reports, or run ln-audit verify on it"


def _worst_first(reports: Sequence[Report]) -> list[Report]:
    return sorted(reports, key=lambda report: (0, 2, 1)[(1, 0, 3).index(report.verdict)])


def _bad(report: Report) -> list[Finding]:
    """What failed, that which explains the rest first; else what a verdict depends on and nobody could tell."""
    failed = sorted((each for each in report.findings if each.status == "fail"), key=lambda each: not leads(each))
    return failed or [each for each in report.findings if each.status == "skip" and each.required]


def _told(report: Report) -> str:
    """FAIL path: LN101 not-finite: …"""
    named = f"{report.verdict.word.upper()} {one_line(report.source.spec)}"
    if report.error is not None:
        return f"{named}: {report.error.message}"
    bad = _bad(report)
    if not bad:
        return named
    first = bad[0]
    more = f" (and {len(bad) - 1:,} more: {_command(report)})" if len(bad) > 1 else ""
    return f"{named}: {first.rule} {first.name}: {first.reason if first.status == 'skip' else first.message}{more}"


def _command(report: Report) -> str:
    """The command that says all of it: ln-audit verify out/checkpoint-10."""
    from ln_audit.reports.command import reproducing
    from ln_audit.reports.document import Run, exit_code

    return reproducing(Run((report,), exit_code((report,))))


def _demand(options: dict[str, Any], live: Any) -> Demand:
    """What these options ask for. Raises `UsageError` for one that there is not."""
    if live is not None:
        from ln_audit.record import live as in_memory

        if options.get("against") is not None:
            raise UsageError("live and against: expected one of them, found both")
        return replace(_demand(options | {"against": in_memory.NAME}, None), live=in_memory.live(live))
    known = {field.name for field in fields(Demand)} - _NOT_OPTIONS | {"recording"}
    for name in options:
        if name not in known:
            meant = did_you_mean(name, known)  # in the message: who logs an error leaves its hint out
            told = f"option: expected one of {', '.join(sorted(known))}, found {one_line(name)}"
            raise UsageError(f"{told}: {meant}" if meant else told)
    return call.demand(options)
