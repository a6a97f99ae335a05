"""What every output for people says of a report, and in which words: its title, its facts, what it came to."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.printable import short
from ln_audit.reports.grouping import grouped
from ln_audit.reports.wording import count, facts, size
from ln_audit.resolving_power import summary as resolving_power
from ln_audit.result import leads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.reports.document import Run
    from ln_audit.result import Finding, Report, SourceReport

MARKS = {"fail": "✗", "warn": "!", "skip": "–", "pass": "✓"}
NOTHING = "nothing was checked"
_NAME = 300  # characters of a name that stands beside others
_WORST_FIRST = ("fail", "incomplete", "pass")


class Row(NamedTuple):
    """One target of several, as a row of a table."""

    verdict: str
    target: str
    family: str
    norms: str
    first: str


def verdict(report: Report) -> str:
    """PASS, 2 warnings; FAIL; INCOMPLETE."""
    warnings = sum(finding.status == "warn" for finding in report.findings)
    also = f", {count(warnings, 'warning')}" if warnings and report.verdict.word == "pass" else ""
    return f"{report.verdict.word.upper()}{also}"


def worst_first(run: Run) -> list[Report]:
    """The reports: failed, then incomplete, then passed; each kind in the order of the targets."""
    return sorted(run.reports, key=lambda report: _WORST_FIRST.index(report.verdict.word))


def counts(run: Run) -> str:
    """3 targets: 1 pass, 1 fail, 1 incomplete."""
    verdicts = [report.verdict.word for report in run.reports]
    told = [f"{verdicts.count(word)} {word}" for word in ("pass", "fail", "incomplete") if word in verdicts]
    return f"{count(len(verdicts), 'target')}: {', '.join(told) or NOTHING}"


def rows(run: Run) -> list[Row]:
    """A row for each report, the worst first."""
    return [_row(report) for report in worst_first(run)]


def _row(report: Report) -> Row:
    family = "–" if report.family is None else short(report.family.name, _NAME)
    norms = f"{len(report.norms):,}" if report.norms else "–"
    return Row(verdict(report), name(report), family, norms, first(report))


def first(report: Report) -> str:
    """Of what a report does not pass: its first failure, else why it could not be told; else its first warning; else nothing."""
    for status in ("fail", "skip", "warn"):
        if status == "skip" and report.error is not None:
            return short(report.error.message)
        chosen = [each for each in report.findings if each.status == status and (status != "skip" or each.required)]
        if chosen:
            one, *more = grouped(sorted(chosen, key=lambda finding: not leads(finding)))
            said = one.reason if status == "skip" else one.message
            also = sum(group.count for group in more)
            return short(f"{label(one.first)}{times(one.count)}: {said}") + (f" (and {also:,} more)" if also else "")
    return "" if report.verdict.word == "pass" else NOTHING


def leading(report: Report) -> list[Finding]:
    """The failures that explain others: they are said first of all."""
    return [finding for finding in report.findings if leads(finding)]


def undecided(report: Report) -> list[Finding]:
    """Of an incomplete report, what its verdict depends on and nobody can tell: it is said right below the verdict."""
    gaps = report.verdict.word == "incomplete"
    return [finding for finding in report.findings if gaps and finding.status == "skip" and finding.required]


def of_status(report: Report, status: str) -> list[Finding]:
    """The findings of one status that are not said first."""
    first = {id(finding) for finding in (*leading(report), *undecided(report))}
    return [finding for finding in report.findings if finding.status == status and id(finding) not in first]


def nothing(report: Report) -> str:
    """That nothing was checked, where nothing else says why a report is incomplete; else empty."""
    silent = report.verdict.word == "incomplete" and report.error is None and not undecided(report)
    return NOTHING if silent else ""


def label(finding: Finding) -> str:
    """LN001 missing-norm."""
    return f"{finding.rule} {finding.name}"


def times(number: int) -> str:
    """How often, where it is more than once: ` (12×)`."""
    return f" ({number:,}×)" if number > 1 else ""


def title(report: Report) -> str:
    """What was asked for, which of its artifacts this is, and where it was found at which commit."""
    return f"{source_title(report.source)}{_several(report)}"


def name(report: Report) -> str:
    """The same as short as it stays unique: as it was asked for, and which of its artifacts."""
    return short(f"{report.source.spec}{_several(report)}", _NAME)


def _several(report: Report) -> str:
    """Of a folder with several artifacts, which of them."""
    source, held = report.source, report.checkpoint
    file = largest(report) if held is not None else ""
    several = bool(file) and held is not None and held.format in ("gguf", "onnx") and not source.spec.endswith(file)
    return f": {file}" if several else ""


def largest(report: Report) -> str:
    """The file that an artifact mainly is; empty where none was read."""
    files = report.source.files
    return max(files, key=lambda each: each.size or 0).name if files else ""


def source_title(source: SourceReport) -> str:
    """The target as it was given, where that is, and at which commit."""
    known = source.kind == "local" or source.identity == source.spec  # a path says where it is
    identity = "" if known else f" ({short(source.identity, _NAME)})"
    revision = "" if source.revision is None else f" at {short(source.revision[:12])}"
    return f"{short(source.spec, _NAME)}{identity}{revision}"


def told_facts(report: Report) -> Iterator[tuple[str, str]]:
    """What was looked at: a label, or none where the line belongs to the one above, and a line of text."""
    if report.family is not None:
        yield "family", f"{report.family.name} ({report.family.evidence})"
    for entry in [entry for entry in report.norms if entry.norm.role == "final"][:4]:
        norm = entry.norm
        offset = "" if norm.weight_offset == 0 else f", gain = stored + {norm.weight_offset:g}"
        yield "final norm", f"{norm.name}: {facts(norm)}{offset}"
        parts = [f"{tensor.role} {prod(tensor.shape):,}" for tensor in entry.tensors]
        told = f"{' + '.join(parts)} =" if len(parts) > 1 else "".join(f"{tensor.role}:" for tensor in entry.tensors)
        yield "", f"{told} {entry.parameters:,} parameters, counted from checkpoint tensors".lstrip()
    counted = report.parameters
    if counted.all_norms is not None:
        whole = "" if counted.checkpoint is None else f" of {counted.checkpoint:,} parameters"
        yield "all norms", f"{count(len(report.norms), 'norm')}, {counted.all_norms:,}{whole}"
    for comparison in report.comparisons:
        yield from _compared(comparison)
    if report.against is not None:
        held = report.against
        known = f"{held.family}, " if held.family else "family not known, "
        yield "against", f"{source_title(held.source)} ({known}{count(held.pairs, 'norm')} paired)"
        yield "", f"read {_read(held.source)}"
    if report.source.files:
        yield "read", _read(report.source)
        checked = [file.name for file in report.source.files if file.sha256 is not None]
        if checked:
            yield "", f"SHA-256 as published: {', '.join(checked)}"


def _compared(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "recording", f"{comparison.recording} ({comparison.provenance})"
    yield "", _numbers(comparison)
    yield from (("", note) for note in comparison.notes)
    yield from (("", line) for line in resolving_power.lines(comparison))


def _numbers(comparison: Comparison) -> str:
    if comparison.max_error_ratio is None:
        return comparison.message
    judged = comparison.elements - comparison.unjudged
    told = (
        f"{comparison.elements:,} elements"
        if not comparison.unjudged
        else f"{judged:,} of {comparison.elements:,} elements judged"
    )
    return (
        f"{comparison.positions:,} positions, {told}; largest error"
        f" {comparison.max_abs_error:.2g}, {resolving_power.of_rounding(comparison.max_error_ratio)}"
    )


def _read(source: SourceReport) -> str:
    """How much of the files was read, and over the wire in how many requests."""
    total = sum(file.size or 0 for file in source.files)
    read = source.bytes_read
    amount = f"all {size(total)}" if 0 < total <= read else size(read)  # small files are looked at more than once
    whole = f" of {size(total)}" if read < total else ""
    wire = f" in {count(source.requests, 'request')}" if source.requests else ""
    return f"{amount}{whole}{wire}"


def passed(findings: Sequence[Finding]) -> Iterator[tuple[Finding, int, str]]:
    """Each rule that passed anything: its first finding, how often, and what it said."""
    chosen = [finding for finding in findings if finding.status == "pass"]
    for rule in dict.fromkeys(finding.rule for finding in chosen):
        of_rule = [finding for finding in chosen if finding.rule == rule]
        said = list(dict.fromkeys(finding.message for finding in of_rule))
        yield of_rule[0], len(of_rule), "; ".join(said[:2]) + ("; …" if len(said) > 2 else "")
