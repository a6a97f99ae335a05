"""`--format html`: one file without network, for people who would rather look: verdict and checks, then pictures.

What is drawn stands in `pictures/`, how it is laid out in `templates/`. A report that was not made for pictures
(`Demand.pictures`) has fewer of them, and is as true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ln_audit.printable import one_line
from ln_audit.reports.page import page
from ln_audit.reports.summary import (
    counts,
    leading,
    name,
    nothing,
    of_status,
    source_title,
    undecided,
    worst_first,
)
from ln_audit.reports.wording import count, facts, size
from ln_audit.resolving_power.summary import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.reports.document import Run
    from ln_audit.reports.pictures.picture import Picture
    from ln_audit.result import Finding, NormReport, Report

NAME = "html"
_TENSORS = 160  # that are drawn on one page: three times GPT-2 small's, some 7 kB each
_LISTED = 60  # findings of one rule that are written out
_NORMS = 400  # rows of the table of norms
_RECORDED = 200  # recorded norms that are told …
_MAPPED = 8  # … and those with pictures: some 100 kB each
_ORDER = ("error", "fail", "incomplete", "pass")


@dataclass(frozen=True, slots=True)
class Ruled:
    """The findings of one rule that came to one status; `more` are left out."""

    rule: str
    name: str
    findings: tuple[Finding, ...]
    more: int

    @property
    def messages(self) -> tuple[str, ...]:
        """What they say, each once."""
        return tuple(dict.fromkeys(finding.message for finding in self.findings))


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with its pictures, and what else is to be said of its resolving power."""

    comparison: Comparison
    pictures: tuple[Picture, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A norm with the pictures of its tensors; `told`: a finding that is no pass is about it."""

    entry: NormReport
    pictures: tuple[Picture, ...]
    told: bool


@dataclass(frozen=True, slots=True)
class Section:
    """One report as the page lays it out."""

    number: int
    report: Report
    leading: tuple[Ruled, ...]
    undecided: tuple[Ruled, ...]
    ruled: dict[str, tuple[Ruled, ...]]
    comparisons: tuple[Compared, ...]
    profiles: tuple[Picture, ...]
    drawn: tuple[Drawn, ...]

    @property
    def listed(self) -> tuple[NormReport, ...]:
        """The norms of the table."""
        return self.report.norms[:_NORMS]


def render(run: Run) -> str:
    """The whole page. Needs what the extra `html` installs."""
    room = max(2, _TENSORS // max(1, len(run.reports)))
    sections = [_section(at, report, room) for at, report in enumerate(run.reports, 1)]
    worst = sorted(sections, key=lambda each: _ORDER.index(each.report.verdict.word))
    return page(
        "report.html", run=run, sections=sections, worst=worst, count=count, facts=facts, size=size, share=share,
        counts=counts, heading=heading(run), nothing=nothing, source=source_title,
    )  # fmt: skip


def heading(run: Run) -> str:
    """FAIL: models/b and 2 more: the verdict, and whose it is."""
    if run.error is not None or not run.reports:
        return run.verdict.upper()
    first, *more = worst_first(run)
    return f"{run.verdict.upper()}: {name(first)}{f' and {len(more):,} more' if more else ''}"


def share(ratio: float) -> str:
    """An error ratio in words: `0.21 of the tolerance`, `16,800 times the tolerance`."""
    if ratio <= 1:
        return f"{ratio:.2g} of the tolerance"
    return f"{float(f'{ratio:.3g}'):,.10g} times the tolerance" if ratio < 1e9 else f"{ratio:.2g} times the tolerance"


def _section(number: int, report: Report, most: int) -> Section:
    from ln_audit.reports.pictures.depth_profile import depth_profiles

    told = sorted(report.comparisons, key=lambda each: each.status == "pass")[:_RECORDED]
    compared = [_compared(comparison, drawn=at < _MAPPED) for at, comparison in enumerate(told)]
    statuses = ("fail", "warn", "skip", "pass")
    ruled = {status: tuple(_ruled(of_status(report, status))) for status in statuses}
    first = tuple(_ruled(leading(report))), tuple(_ruled(undecided(report)))
    pictures = depth_profiles(report.norms), tuple(_drawn(report, most))
    return Section(number, report, *first, ruled, tuple(compared), *pictures)


def _ruled(chosen: Sequence[Finding]) -> Iterator[Ruled]:
    """By rule, in the order of the findings; those on which the verdict depends first."""
    for rule in dict.fromkeys(finding.rule for finding in chosen):
        of_rule = sorted((each for each in chosen if each.rule == rule), key=lambda each: not each.required)
        yield Ruled(rule, of_rule[0].name, tuple(of_rule[:_LISTED]), max(0, len(of_rule) - _LISTED))


def _compared(comparison: Comparison, *, drawn: bool) -> Compared:
    from ln_audit.reports.pictures.error_map import error_map
    from ln_audit.reports.pictures.resolving_bars import resolving_bars
    from ln_audit.reports.pictures.share_distribution import share_distribution

    kinds = (error_map, share_distribution, resolving_bars) if drawn else ()
    made = (draw(comparison) for draw in kinds)
    return Compared(comparison, tuple(each for each in made if each is not None), tuple(lines(comparison)))


def _drawn(report: Report, most: int) -> Iterator[Drawn]:
    """The norms that are drawn, at most `most` tensors: the final ones, those that failed or are odd, then all in order."""
    from ln_audit.reports.pictures.channel_values import channel_values

    odd = {
        finding.subject.partition(" against ")[0] for finding in report.findings if finding.status in ("fail", "warn")
    }
    told = {
        at
        for at, each in enumerate(report.norms)
        if odd & {one_line(name) for name in (each.norm.name, *each.norm.tensors)}
    }
    order = sorted(enumerate(report.norms), key=lambda each: (each[1].norm.role != "final", each[0] not in told))
    for at, entry in order:
        if most <= 0:
            return
        pictures = tuple(each for each in map(channel_values, entry.tensors[:most]) if each is not None)
        most -= len(pictures)
        if pictures:
            yield Drawn(entry, pictures, at in told)
