"""`--format sarif`: SARIF 2.1.0, one run for all targets, with the rules' own documents.

What failed or is odd is a result. An audit that came to no verdict says nothing bad of the artifact, and is a result too, of a
rule of its own, beside the notifications and `executionSuccessful: false`: to a reader of results alone it must not look clean.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ln_audit import __version__
from ln_audit.printable import short
from ln_audit.reports.sarif_results import results, text
from ln_audit.reports.sarif_rules import INCOMPLETE, INCOMPLETE_RULE, descriptor
from ln_audit.reports.summary import name, title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.reports.document import Run
    from ln_audit.result import Finding

NAME = "sarif"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"usage": "toolConfigurationNotifications"}  # a wrong call; everything else happened while running


def render(run: Run) -> str:
    """The log as ASCII JSON, with a newline at the end."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(run)]}
    return json.dumps(log, indent=1, allow_nan=False) + "\n"


def _run(run: Run) -> dict[str, Any]:
    rules = _rules(run)
    at = {rule["id"]: index for index, rule in enumerate(rules)}
    return {
        "tool": {
            "driver": {"name": "ln-audit", "version": __version__, "semanticVersion": __version__, "rules": rules}
        },
        "invocations": [_invocation(run)],
        "columnKind": "unicodeCodePoints",
        "results": [{**result, "ruleIndex": at[result["ruleId"]]} for result in results(run)],
        "properties": {
            "verdict": run.verdict,
            "policy": None if run.policy is None else {"path": short(run.policy.path), "sha256": run.policy.sha256},
            "targets": [
                {
                    "target": name(report),
                    "title": short(title(report)),
                    "verdict": report.verdict.word,
                    "norms": len(report.norms),
                }
                for report in run.reports
            ],
        },
    }


def _rules(run: Run) -> list[dict[str, Any]]:
    """Every rule that was applied, whatever it found, and the one for audits without a verdict where there are such."""
    applied = {finding.rule for report in run.reports for finding in report.findings}
    silent = any(report.verdict.word == "incomplete" for report in run.reports) or not run.reports
    return [*map(descriptor, sorted(applied)), *([INCOMPLETE_RULE] if silent else [])]


def _invocation(run: Run) -> dict[str, Any]:
    told: dict[str, Any] = {"executionSuccessful": True, "exitCode": run.exit_code}
    execution = [note for report in run.reports for note in _undecided(report.findings)]
    for error in [run.error, *(report.error for report in run.reports)]:
        if error is not None:
            note = {
                "level": "error",
                "descriptor": {"id": error.kind},
                "message": text(_way_out(error.message, error.hint)),
            }
            (told.setdefault(_LEVELS[error.kind], []) if error.kind in _LEVELS else execution).append(note)
    told["toolExecutionNotifications"] = execution
    told["executionSuccessful"] = run.verdict in ("pass", "fail") and not any(
        note["level"] == "error" for note in execution
    )
    return told


def _way_out(message: str, hint: str) -> str:
    return f"{message} → {hint}" if hint else message


def _undecided(findings: tuple[Finding, ...]) -> Iterator[dict[str, Any]]:
    """What applied and was not decided: an error where the verdict depends on it, else a note."""
    for finding in findings:
        if finding.status == "skip":
            yield {
                "level": "error" if finding.required else "note",
                "associatedRule": {"id": finding.rule},
                "descriptor": {"id": INCOMPLETE if finding.required else "not-decided"},
                "message": text(f"{finding.subject}: {finding.reason}"),
            }
