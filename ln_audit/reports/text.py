"""`--format text`: first the verdict, then what was checked, then what was not and why; of several targets a table at the end.

PASS  sample
  family       gpt2 (model_type "gpt2" in config.json)
  final norm   ln_f: layer_norm, 768 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)
  …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.printable import one_line, short
from ln_audit.reports.grouping import alone, grouped
from ln_audit.reports.summary import (
    MARKS,
    Row,
    counts,
    label,
    leading,
    nothing,
    of_status,
    passed,
    rows,
    times,
    title,
    told_facts,
    undecided,
    verdict,
)
from ln_audit.reports.wrapping import HANG, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.reports.document import Run
    from ln_audit.result import Failure, Finding, Report

NAME = "text"
_MOST = 8  # lines of one rule that are written out; the rest is counted
_MOST_SKIPS = 3
_MOST_LINES = 32
_DEPENDS = " (the verdict depends on it)"
_MOST_TARGETS = 100  # characters of a target in the table


def render(run: Run) -> str:
    """All reports one below the other, a line for each finding, however long; of several targets a table at the end."""
    return write(run, quiet=False, verbose=False)


def write(run: Run, *, quiet: bool, verbose: bool, width: int | None = None) -> str:
    """The same: `quiet` leaves the verdicts and what failed, `verbose` gives every finding and every report lines of its own.

    `width` is a terminal's, in columns; None where nobody looks, and each item is one line.
    """
    several = len(run.reports) > 1
    whole = quiet or verbose or not several
    lines: list[str] = []
    for report in run.reports:
        if whole or verdict(report) != "PASS":
            lines += [*_report(report, quiet=quiet, verbose=verbose), ""]
    if run.policy is not None and not quiet:
        lines += [f"policy: {one_line(run.policy.path)}, SHA-256 {run.policy.sha256}", ""]
    if run.error is not None:
        lines += [f"ERROR  {HANG}{short(run.error.message)}", *_hint(run.error), ""]
    if several and not quiet:
        lines += [*_targets(rows(run), width), ""]
    if not whole and any(verdict(report) == "PASS" for report in run.reports):
        lines.append("what was checked where all is well, and what was not: --verbose")
    if several:
        lines.append(counts(run))
    return laid_out(lines, width)


def _report(report: Report, *, quiet: bool, verbose: bool) -> Iterator[str]:
    yield f"{verdict(report)}  {HANG}{short(title(report))}"
    if report.error is not None:
        yield f"  {HANG}{short(report.error.message)}"
        yield from _hint(report.error)
    yield from _first(report, verbose=verbose)
    if not quiet:
        yield from (f"  {head:<12} {HANG}{short(text)}" for head, text in told_facts(report))
    yield from _section("failed", of_status(report, "fail"), "fail", verbose=verbose)
    skipped = of_status(report, "skip")
    if quiet:
        yield from _undecided([finding for finding in skipped if finding.required], _DEPENDS, verbose=verbose)
        return
    yield from _section("warnings", report.findings, "warn", verbose=verbose)
    yield from _section("checked", report.findings, "pass", verbose=True) if verbose else _passed(report)
    yield from _not_checked(report, skipped, verbose=verbose)


def _first(report: Report, *, verbose: bool) -> Iterator[str]:
    """What a reader must see before anything else: what explains the rest, and what could not be told."""
    yield from _section("above all", leading(report), "fail", verbose=verbose)
    if (gaps := undecided(report)) or nothing(report):
        yield "  cannot tell"
        yield from (f"    – {HANG}{told}" for told in filter(None, [nothing(report)]))
        yield from _undecided(gaps, "", verbose=verbose)


def _targets(table: Sequence[Row], width: int | None) -> Iterator[str]:
    """The table of several targets, the worst first.

    On a terminal too narrow for it long names lose their beginning, and each failure stands on a line of its own.
    """
    head = Row("verdict", "target", "family", "norms", "first failure, or why nobody can tell")
    cells = [head, *(row._replace(target=_end_of(row.target, _longest_target(width))) for row in table)]
    widths = [max(len(row[at]) for row in cells) for at in range(4)]
    lines = [
        "  ".join([*(f"{row[at]:<{widths[at]}}" for at in range(3)), f"{row.norms:>{widths[3]}}"]) for row in cells
    ]
    whole = [f"{line}  {row.first}".rstrip() for line, row in zip(lines, cells, strict=True)]
    if width is None or max(map(len, whole)) <= width:
        yield from whole
        return
    for line, row in zip(lines, cells, strict=True):
        yield line
        if row.first:
            yield f"    {row.first}" if len(row.first) + 4 <= width else f"    {row.first[: max(width, 60) - 5]}…"


def _longest_target(width: int | None) -> int:
    return _MOST_TARGETS if width is None else max(20, width // 2 - 8)


def _end_of(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _section(head: str, findings: Sequence[Finding], status: str, *, verbose: bool) -> Iterator[str]:
    chosen = [finding for finding in findings if finding.status == status]
    if not chosen:
        return
    yield f"  {head}"
    for rule in dict.fromkeys(finding.rule for finding in chosen):
        of_rule = [finding for finding in chosen if finding.rule == rule]
        yield from _of_rule(of_rule, status) if not verbose else _each(of_rule, status)


def _of_rule(of_rule: Sequence[Finding], status: str) -> Iterator[str]:
    """Findings that say the same of many norms are one line; a cause that several share is told below the first."""
    groups = grouped(of_rule)
    told = ""
    for group in groups[:_MOST]:
        named = group.subject.partition(" against ")[0]
        apart = f"{group.subject}: " if len(groups) > 1 and named not in group.message else ""  # which of them is it?
        yield _line(status, f"{label(group.first)}{times(group.count)}", f"{apart}{group.message}")
        if group.reason and group.reason != told:
            yield f"      {HANG}{short(group.reason)}"
        told = group.reason
    if more := sum(group.count for group in groups[_MOST:]):
        yield _line(status, label(of_rule[0]), f"and {more:,} more, see --verbose")


def _each(of_rule: Sequence[Finding], status: str) -> Iterator[str]:
    for finding in of_rule:
        named = finding.subject.partition(" against ")[0]
        apart = status == "pass" or (len(of_rule) > 1 and named not in finding.message)
        yield _line(status, label(finding), f"{finding.subject}: {finding.message}" if apart else finding.message)
        if finding.reason:
            yield f"      {HANG}{short(finding.reason)}"


def _line(status: str, of: str, told: str) -> str:
    return f"    {MARKS[status]} {HANG}{short(f'{of}: {told}')}"


def _passed(report: Report) -> Iterator[str]:
    told = [*passed(report.findings)]
    if told:
        yield "  checked"
    for finding, number, said in told:
        yield _line("pass", f"{label(finding)}{times(number)}", said)


def _not_checked(report: Report, skipped: Sequence[Finding], *, verbose: bool) -> Iterator[str]:
    if not skipped and not report.not_checked:
        return
    yield "  not checked"
    yield from _undecided(skipped, _DEPENDS, verbose=verbose)
    shown = report.not_checked if verbose else report.not_checked[:_MOST_LINES]
    yield from (f"    – {HANG}{short(line)}" for line in shown)
    if more := len(report.not_checked) - len(shown):
        yield f"    – {HANG}and {more:,} more, see --verbose"


def _undecided(skipped: Sequence[Finding], depends: str, *, verbose: bool) -> Iterator[str]:
    """Skips with their reasons, those first on which the verdict depends; of one rule at most a few, the rest is counted."""
    skipped = sorted(skipped, key=lambda finding: not finding.required)
    for rule in dict.fromkeys(finding.rule for finding in skipped):
        of_rule = [finding for finding in skipped if finding.rule == rule]
        groups = [alone(finding) for finding in of_rule] if verbose else grouped(of_rule)
        for group in groups if verbose else groups[:_MOST_SKIPS]:
            must = depends if group.first.required else ""
            yield _line("skip", f"{label(group.first)}{times(group.count)}", f"{group.subject}: {group.reason}{must}")
            yield from _table(group.first)
        if more := 0 if verbose else sum(group.count for group in groups[_MOST_SKIPS:]):
            yield _line("skip", label(of_rule[0]), f"and {more:,} more, see --verbose")


def _table(finding: Finding) -> Iterator[str]:
    """What a person may begin with to describe a family that is not known."""
    table = finding.evidence.get("table")
    if isinstance(table, str):
        yield "      for example, in ln-audit.toml, once you know that it is so:"
        yield from (f"        {one_line(line)}" for line in table.splitlines())


def _hint(failure: Failure) -> list[str]:
    return [f"  → {HANG}{short(failure.hint)}"] if failure.hint else []
