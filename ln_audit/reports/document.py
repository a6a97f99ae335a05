"""The report as plain JSON values: the one mapping that machine-readable outputs share. Keys are added, never renamed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ln_audit import __version__
from ln_audit.result import Failure, NormReport, Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.demand import Policy

SCHEMA = "ln-audit.report/1"
_SHOWN = 4  # reports in the repr of a run


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """One call of the program: the reports of all its targets, or the reason why there are none.

    `command` are the words of the call after `ln-audit`, where there was one.
    """

    reports: tuple[Report, ...]
    exit_code: int
    error: Failure | None = None
    policy: Policy | None = None
    command: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """pass, fail, incomplete, or error when the call was rejected or ln-audit itself failed."""
        return {0: "pass", 1: "fail", 3: "incomplete"}.get(self.exit_code, "error")

    def __bool__(self) -> bool:
        """No truth value: `if run:` would be true of a run that failed. Raises `TypeError`."""
        raise TypeError("a run has no truth value: ask for run.verdict or run.exit_code")

    def __repr__(self) -> str:
        """What a person reads at a prompt."""
        told = [*([self.error.message] if self.error is not None else []), *map(repr, self.reports[:_SHOWN])]
        more = f", and {len(self.reports) - _SHOWN:,} more" if len(self.reports) > _SHOWN else ""
        return f"<Run {self.verdict}: {', '.join(told) or 'no reports'}{more}>"


def exit_code(reports: Sequence[Report]) -> int:
    """The worst verdict of all targets: 1 before 3 before 0; nothing audited is 3, never 0."""
    verdicts = {report.verdict for report in reports}
    for verdict in (Verdict.FAIL, Verdict.INCOMPLETE):
        if verdict in verdicts:
            return int(verdict)
    return int(Verdict.PASS if verdicts else Verdict.INCOMPLETE)


def document(run: Run) -> dict[str, Any]:
    """The whole JSON document; no NaN or infinity in it, they are null."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "ln-audit", "version": __version__},
        "verdict": run.verdict,
        "exit_code": run.exit_code,
        "error": plain(run.error),
        "policy": None if run.policy is None else {"path": run.policy.path, "sha256": run.policy.sha256},
        "reports": [_report(report) for report in run.reports],
    }


def _report(report: Report) -> dict[str, Any]:
    return {
        "source": plain(report.source),
        "checkpoint": plain(report.checkpoint),
        "family": plain(report.family),
        "against": plain(report.against),
        "norms": [_norm(norm) for norm in report.norms],
        "parameters": plain(report.parameters),
        "comparisons": [_comparison(comparison) for comparison in report.comparisons],
        "findings": plain(report.findings),
        "not_checked": list(report.not_checked),
        "verdict": report.verdict.word,
        "error": plain(report.error),
    }


def _norm(entry: NormReport) -> dict[str, Any]:
    norm = entry.norm
    return {
        "name": norm.name,
        "role": norm.role,
        "stack": norm.stack,
        "layer": norm.layer,
        "kind": norm.kind,
        "width": norm.width,
        "width_source": norm.width_source,
        "eps": plain(norm.eps),
        "eps_source": norm.eps_source,
        "eps_places": plain(norm.eps_places),
        "weight_offset": norm.weight_offset,
        "parameters": entry.parameters,
        "tensors": plain(entry.tensors),
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    told: dict[str, Any] = plain(comparison)
    return told


def plain(value: Any) -> Any:
    """JSON values of a frozen value: dataclasses become objects, tuples lists, numbers that are not finite null.

    What is there for pictures only is left out.
    """
    if is_dataclass(value) and not isinstance(value, type):
        told = [field.name for field in fields(value) if "picture" not in field.metadata]
        return {name: plain(getattr(value, name)) for name in told}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
