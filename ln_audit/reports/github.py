"""`--format github`: annotations, as workflow commands on standard output; the step summary is the Markdown report.

::error title=LN001 missing-norm,file=model/model.safetensors::model: ln_f.weight: expected a gain of shape [768], found no such tensor
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.printable import short
from ln_audit.reports.address import repository_path
from ln_audit.reports.grouping import grouped
from ln_audit.reports.summary import NOTHING, counts, label, name, times, verdict
from ln_audit.result import leads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.reports.document import Run
    from ln_audit.result import Report

NAME = "github"
SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable that names the step's summary file
_SHOWN = 10  # annotations of a kind that GitHub shows of one step
_LEVELS = ("error", "warning", "notice")


class Annotation(NamedTuple):
    """One annotation; `file` is a path in the repository, or empty."""

    level: str
    title: str
    message: str
    file: str = ""


def render(run: Run) -> str:
    """At most ten annotations of a kind, and the verdict as a line of the log."""
    made = [*chain.from_iterable(map(_of_report, run.reports)), *_of_run(run)]
    lines = [_command(each) for level in _LEVELS for each in _bounded([a for a in made if a.level == level])]
    return "\n".join([*lines, f"ln-audit: {run.verdict.upper()}, {counts(run)}"]) + "\n"


def _of_run(run: Run) -> Iterator[Annotation]:
    if run.error is not None:
        hint = f" → {run.error.hint}" if run.error.hint else ""
        yield Annotation("error", f"ln-audit: {run.error.kind}", f"{run.error.message}{hint}")
    elif not run.reports:
        yield Annotation("error", "ln-audit: incomplete", NOTHING)


def _of_report(report: Report) -> Iterator[Annotation]:
    target, file = name(report), repository_path(report.source, "")
    for status, level in (("fail", "error"), ("warn", "warning")):
        chosen = [finding for finding in report.findings if finding.status == status]
        for group in grouped(sorted(chosen, key=lambda finding: not leads(finding))):
            said = "; ".join(filter(None, (group.message, group.reason)))
            place = repository_path(report.source, group.message)
            yield Annotation(level, f"{label(group.first)}{times(group.count)}", f"{target}: {said}", place)
    for group in grouped(finding for finding in report.findings if finding.required):
        yield Annotation(
            "error", f"{label(group.first)}: not decided", f"{target}: {group.subject}: {group.reason}", file
        )
    if report.error is not None:
        hint = f" → {report.error.hint}" if report.error.hint else ""
        yield Annotation("error", "incomplete", f"{report.error.message}{hint}", file)
    elif report.verdict.word == "incomplete" and not any(finding.required for finding in report.findings):
        yield Annotation("error", "incomplete", f"{target}: {NOTHING}", file)
    if report.verdict.word == "pass":
        yield Annotation("notice", "ln-audit", f"{verdict(report)}: {target}")


def _bounded(made: list[Annotation]) -> Iterable[Annotation]:
    if len(made) <= _SHOWN:
        return made
    more = len(made) - _SHOWN + 1
    return [*made[: _SHOWN - 1], Annotation(made[0].level, "ln-audit", f"and {more:,} more: see the step's summary")]


def _command(each: Annotation) -> str:
    file = f",file={_property(each.file)}" if each.file else ""
    return f"::{each.level} title={_property(each.title)}{file}::{_data(each.message)}"


def _data(text: str) -> str:
    """A command's message. Line ends cannot be in it any more, and would be %0D and %0A."""
    return short(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(short(text, 300)).replace(":", "%3A").replace(",", "%2C")
