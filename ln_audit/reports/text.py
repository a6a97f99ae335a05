"""`--format text`: first the verdict, then what was checked, then what was not.

PASS  sample
  model        gpt2 (model_type "gpt2" in config.json)
  final norm   ln_f: layer_norm, 768 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)
  …
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ln_audit.printable import one_line
from ln_audit.reports.wording import count, facts, size
from ln_audit.resolving_power import summary as resolving_power

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.reports.document import Run
    from ln_audit.result import Failure, Finding, Report, SourceReport

NAME = "text"
_MOST = 8  # findings of one rule that are written out; the rest is counted
_MOST_SKIPS = 3
_MARKS = {"fail": "✗", "warn": "!", "skip": "–", "pass": "✓"}


def render(run: Run) -> str:
    """All reports one below the other, and a last line when there are several."""
    return write(run, quiet=False, verbose=False)


def write(run: Run, *, quiet: bool, verbose: bool) -> str:
    """The same: `quiet` leaves the verdict and what failed, `verbose` gives every finding a line of its own."""
    lines: list[str] = []
    for report in run.reports:
        lines += [*_report(report, quiet=quiet, verbose=verbose), ""]
    if run.policy is not None and not quiet:
        lines += [f"policy: {one_line(run.policy.path)}, SHA-256 {run.policy.sha256}", ""]
    if run.error is not None:
        lines += [f"ERROR  {one_line(run.error.message)}", *_hint(run.error), ""]
    if len(run.reports) > 1:
        verdicts = [report.verdict.word for report in run.reports]
        told = ", ".join(
            f"{verdicts.count(word)} {word}" for word in ("pass", "fail", "incomplete") if word in verdicts
        )
        lines.append(f"{len(run.reports)} targets: {told}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _report(report: Report, *, quiet: bool, verbose: bool) -> Iterator[str]:
    warnings = sum(finding.status == "warn" for finding in report.findings)
    also = f", {count(warnings, 'warning')}" if warnings and report.verdict.word == "pass" else ""
    yield f"{report.verdict.word.upper()}{also}  {one_line(_title(report))}"
    if report.error is not None:
        yield f"  {one_line(report.error.message)}"
        yield from _hint(report.error)
    most = len(report.findings) if verbose else _MOST
    if not quiet:
        yield from (f"  {label:<12} {one_line(text)}" for label, text in _facts(report))
    yield from _section("failed", report.findings, "fail", most)
    if quiet:
        yield from _undecided([finding for finding in report.findings if finding.required])
        return
    yield from _section("warnings", report.findings, "warn", most)
    yield from _section("checked", report.findings, "pass", most) if verbose else _passed(report)
    yield from _not_checked(report)


def _read(source: SourceReport) -> str:
    """How much of the files was read, and over the wire in how many requests."""
    total = sum(file.size or 0 for file in source.files)
    read = source.bytes_read
    amount = f"all {size(total)}" if 0 < total <= read else size(read)  # small files are looked at more than once
    whole = f" of {size(total)}" if read < total else ""
    wire = f" in {count(source.requests, 'request')}" if source.requests else ""
    return f"read {amount}{whole}{wire}"


def _title(report: Report) -> str:
    """What was asked for, and of a folder with several artifacts which of them this is."""
    source, held = report.source, report.checkpoint
    file = max(source.files, key=lambda each: each.size or 0).name if source.files and held is not None else ""
    several = bool(file) and held is not None and held.format in ("gguf", "onnx") and not source.spec.endswith(file)
    return f"{_title_of(source)}{f': {file}' if several else ''}"


def _title_of(source: SourceReport) -> str:
    identity = "" if source.identity == source.spec else f" = {source.identity}"
    revision = "" if source.revision is None else f" at {source.revision[:12]}"
    return f"{source.spec}{identity}{revision}"


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    if report.family is not None:
        yield "family", f"{report.family.name} ({report.family.evidence})"
    for entry in [entry for entry in report.norms if entry.norm.role == "final"][:4]:
        norm = entry.norm
        offset = "" if norm.weight_offset == 0 else f", gain = stored + {norm.weight_offset:g}"
        yield "final norm", f"{norm.name}: {facts(norm)}{offset}"
        parts = [f"{tensor.role} {prod(tensor.shape):,}" for tensor in entry.tensors]
        yield "", f"{' + '.join(parts) or 'nothing'} = {entry.parameters:,} parameters, counted from checkpoint tensors"
    counted = report.parameters
    if counted.all_norms is not None:
        whole = "" if counted.checkpoint is None else f" of {counted.checkpoint:,} parameters"
        yield "all norms", f"{count(len(report.norms), 'norm')}, {counted.all_norms:,}{whole}"
    for comparison in report.comparisons:
        yield "recording", f"{comparison.recording} ({comparison.provenance})"
        yield "", _numbers(comparison)
        yield from (("", note) for note in comparison.notes)
        of = next((entry.norm for entry in report.norms if entry.norm.name == comparison.norm), None)
        yield from (("", line) for line in resolving_power.lines(comparison, of))
    if report.against is not None:
        held = report.against
        known = f"{held.family}, " if held.family else ""
        yield "against", f"{_title_of(held.source)} ({known}{count(held.pairs, 'norm')} paired)"
        yield "", _read(held.source)
    if report.source.files:
        yield "read", _read(report.source).removeprefix("read ")
        checked = [file.name for file in report.source.files if file.sha256 is not None]
        if checked:
            yield "", f"SHA-256 as published: {', '.join(checked)}"


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
        f" {comparison.max_abs_error:.2g}, {comparison.max_error_ratio:.2g} of the tolerance"
    )


def _section(title: str, findings: Sequence[Finding], status: str, most: int) -> Iterator[str]:
    chosen = [finding for finding in findings if finding.status == status]
    if not chosen:
        return
    yield f"  {title}"
    for rule in dict.fromkeys(finding.rule for finding in chosen):
        of_rule = [finding for finding in chosen if finding.rule == rule]
        for finding in of_rule[:most]:
            named = finding.subject.partition(" against ")[0]
            apart = status == "pass" or (len(of_rule) > 1 and named not in finding.message)  # which of them is it?
            subject = f"{one_line(finding.subject)}: " if apart else ""
            yield f"    {_MARKS[status]} {rule} {finding.name}: {subject}{one_line(finding.message)}"
            if finding.reason:
                yield f"      {one_line(finding.reason)}"
        if len(of_rule) > most:
            yield f"    {_MARKS[status]} {rule} {of_rule[0].name}: and {len(of_rule) - most:,} more"


def _passed(report: Report) -> Iterator[str]:
    passed = [finding for finding in report.findings if finding.status == "pass"]
    if not passed:
        return
    yield "  checked"
    for rule in dict.fromkeys(finding.rule for finding in passed):
        of_rule = [finding for finding in passed if finding.rule == rule]
        told = list(dict.fromkeys(finding.message for finding in of_rule))
        times = f" ({len(of_rule)}×)" if len(of_rule) > 1 else ""
        yield f"    ✓ {rule} {of_rule[0].name}{times}: {one_line('; '.join(told[:2]) + ('; …' if len(told) > 2 else ''))}"


def _not_checked(report: Report) -> Iterator[str]:
    skipped = [finding for finding in report.findings if finding.status == "skip"]
    if not skipped and not report.not_checked:
        return
    yield "  not checked"
    yield from _undecided(skipped)
    for line in report.not_checked[: 4 * _MOST]:
        yield f"    – {one_line(line)}"


def _undecided(skipped: Sequence[Finding]) -> Iterator[str]:
    """Skips with their reasons; of one rule at most a few, the rest is counted."""
    for rule in dict.fromkeys(finding.rule for finding in skipped):
        of_rule = sorted(
            (finding for finding in skipped if finding.rule == rule), key=lambda finding: not finding.required
        )
        for finding in of_rule[:_MOST_SKIPS]:
            must = " (the verdict depends on it)" if finding.required else ""
            yield f"    – {rule} {finding.name}: {one_line(finding.subject)}: {one_line(finding.reason)}{must}"
            yield from _table(finding)
        if len(of_rule) > _MOST_SKIPS:
            yield f"    – {rule} {of_rule[0].name}: and {len(of_rule) - _MOST_SKIPS:,} more, see --format json"


def _table(finding: Finding) -> Iterator[str]:
    """What a person may begin with to describe a family that is not known."""
    table = finding.evidence.get("table")
    if isinstance(table, str):
        yield "      for example, in ln-audit.toml, once you know that it is so:"
        yield from (f"        {one_line(line)}" for line in table.splitlines())


def _hint(failure: Failure) -> list[str]:
    return [f"  → {one_line(failure.hint)}"] if failure.hint else []
