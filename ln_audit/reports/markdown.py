"""`--format markdown`: a comment on a pull request, or a section of a model card.

## PASS: `gpt2`
…
All text that is not ours stands in code spans, in which nothing is a link, an image, a mention, HTML or the end of a cell.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ln_audit import __version__
from ln_audit.printable import one_line, short
from ln_audit.reports.command import reproducing
from ln_audit.reports.grouping import grouped
from ln_audit.reports.markdown_table import Align, code, table
from ln_audit.reports.summary import (
    counts,
    label,
    leading,
    name,
    nothing,
    of_status,
    passed,
    rows,
    times,
    title,
    told_facts,
    undecided,
    verdict,
    worst_first,
)
from ln_audit.reports.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.reports.document import Run
    from ln_audit.result import Failure, Finding, NormReport, Report

NAME = "markdown"
_LONGEST = 60_000  # characters; a comment on GitHub takes 65,536
_TRIES = ((64, 1_000), (8, 50), (0, 5), (0, 0))  # rows of a table of digests, and reports told whole
_MOST = 20  # lines of one rule, and rows of a table of targets that is cut short


def render(run: Run) -> str:
    """The whole document; with less detail where it would not fit a comment."""
    said = ""
    for digests, whole in _TRIES:
        said = "\n".join(_lines(run, digests, whole)).rstrip("\n") + "\n"
        if len(said) <= _LONGEST:
            return said
    return said


def _lines(run: Run, digests: int, whole: int) -> Iterator[str]:
    several = len(run.reports) != 1 or not whole  # a report too long to be told is a row of the table, with its verdict
    if several:
        yield f"## {run.verdict.upper()}: {counts(run) if run.error is None else 'no report'}"
        yield ""
    if run.error is not None:
        yield from _error(run.error)
    if several:
        yield from _targets(run, _MOST if whole < 50 else 500)
    wanted = [report for report in worst_first(run) if verdict(report) != "PASS"] if several else run.reports
    told = wanted[:whole]
    for report in told:
        yield from _report(report, "###" if several else "##", digests, alone=not several)
    if more := len(run.reports) - len(told):
        left = (
            "What was checked where all is well, and what was not"
            if len(told) == len(wanted)
            else count(more, "report")
        )
        yield from (f"{left}: `--format json`", "")
    if run.policy is not None:
        yield from (f"Policy: {code(run.policy.path)}, SHA-256 `{run.policy.sha256}`", "")
    if command := reproducing(run):
        yield from (
            "Reproduce with",
            "",
            "```sh",
            command,
            "```",
            "",
        )  # one line that begins with ln-audit ends no fence
    yield f"ln-audit {__version__}"


def _targets(run: Run, most: int) -> Iterator[str]:
    shown = rows(run)[:most]
    cells = [(row.verdict, code(row.target), code(row.family), row.norms, code(short(row.first, 300))) for row in shown]
    yield from table(("verdict", "target", "family", "norms", "first failure, or why nobody can tell"), cells)


def _report(report: Report, level: str, digests: int, *, alone: bool) -> Iterator[str]:
    """One target; of several only what is wrong with it, what it is and what was not looked at."""
    yield from (f"{level} {verdict(report)}: {code(name(report))}", "")
    if report.error is not None:
        yield from _error(report.error)
    if told := nothing(report):
        yield from (told, "")
    if gaps := undecided(report):
        yield from (f"{level}# Cannot tell", "")
        yield from _skipped(gaps, "")
        yield ""
    yield from _found("Failed", "fail", report, level)
    yield from _found("Warnings", "warn", report, level)
    if report.checkpoint is not None:
        yield from (f"{level}# What was checked", "")
        yield from (f"- {head}: {code(text)}" if head else f"  - {code(text)}" for head, text in _facts(report))
        yield ""
    if alone:
        yield from _accounting(report)
        cells = [(label(finding) + times(number), code(said)) for finding, number, said in passed(report.findings)]
        yield from table(("passed", "what was found"), cells)
        yield from _digests(report, digests)
    yield from _not_checked(report, level)


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield "target", title(report)
    if report.checkpoint is not None:
        dtypes = ", ".join(f"{number:,} {dtype}" for dtype, number in report.checkpoint.dtypes.items())
        yield "format", f"{report.checkpoint.format}, {report.checkpoint.tensors:,} tensors ({dtypes})"
    yield from told_facts(report)


def _error(error: Failure) -> Iterator[str]:
    yield from (code(error.message), "")
    if error.hint:
        yield from (f"→ {code(error.hint)}", "")


def _found(head: str, status: str, report: Report, level: str) -> Iterator[str]:
    first = leading(report) if status == "fail" else []
    groups = [*grouped(first), *grouped(of_status(report, status))]
    if not groups:
        return
    yield from (f"{level}# {head}", "")
    for group in groups[:_MOST]:
        yield f"- **{label(group.first)}**{times(group.count)} {code(group.message)}"
        if group.reason:
            yield f"  - {code(group.reason)}"
    if more := sum(group.count for group in groups[_MOST:]):
        yield f"- and {more:,} more, see `--format json`"
    yield ""


def _accounting(report: Report) -> Iterator[str]:
    counted = report.parameters
    final = [entry for entry in report.norms if entry.norm.role == "final"][:4]
    cells = [
        (f"{code(tensor.name)} ({tensor.role})", f"{prod(tensor.shape):,}")
        for entry in final
        for tensor in entry.tensors
    ]
    for told, number in (
        ("final norm", counted.final_norm),
        ("all norms", counted.all_norms),
        ("checkpoint", counted.checkpoint),
    ):
        if number is not None:
            cells.append((told, f"{number:,}"))
    yield from table(("parameters, counted from the tensors", ""), cells, (Align.LEFT, Align.RIGHT))


def _digests(report: Report, most: int) -> Iterator[str]:
    """The digests of effective values, the same in every container; final norms first."""
    known = [entry for entry in report.norms if any(tensor.value_sha256 for tensor in entry.tensors)]
    ordered = sorted(known, key=lambda entry: entry.norm.role != "final")
    cells = [cell for entry in ordered for cell in _of_norm(entry)]
    if not cells or not most:
        return
    yield from table(("norm", "", "SHA-256 of the effective values, as float32"), cells[:most])
    if len(cells) > most:
        yield from (f"{len(cells) - most:,} digests more: `--format json`", "")


def _of_norm(entry: NormReport) -> Iterator[tuple[str, str, str]]:
    for tensor in entry.tensors:
        if tensor.value_sha256 is not None:
            yield code(entry.norm.name), tensor.role, f"`{tensor.value_sha256}`"


def _not_checked(report: Report, level: str) -> Iterator[str]:
    skipped = of_status(report, "skip")
    if not skipped and not report.not_checked:
        return
    yield from (f"{level}# What was not checked", "")
    yield from _skipped(skipped, ", **the verdict depends on it**")
    yield from (f"- {code(line)}" for line in report.not_checked[:_MOST])
    if more := len(report.not_checked[_MOST:]):
        yield f"- and {more:,} more, see `--format json`"
    yield ""


def _skipped(skipped: Sequence[Finding], depends: str) -> Iterator[str]:
    """Those first on which the verdict depends."""
    groups = sorted(grouped(skipped), key=lambda group: not group.first.required)
    for group in groups[:_MOST]:
        must = depends if group.first.required else ""
        yield f"- **{label(group.first)}**{times(group.count)}{must} {code(f'{group.subject}: {group.reason}')}"
        beginning = group.first.evidence.get("table")
        if isinstance(beginning, str):
            yield from ("  - for example, in `ln-audit.toml`, once you know that it is so:", "")
            yield from (f"        {one_line(line)}" for line in beginning.splitlines())
            yield ""
    if more := sum(group.count for group in groups[_MOST:]):
        yield f"- and {more:,} more, see `--format json`"
