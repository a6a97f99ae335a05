"""The results in a SARIF log: what failed, what is odd, and each audit that came to no verdict."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from ln_audit.printable import short
from ln_audit.reports.address import stable, uri
from ln_audit.reports.sarif_rules import INCOMPLETE
from ln_audit.reports.summary import NOTHING, first, name
from ln_audit.waivers import waived

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.reports.document import Run
    from ln_audit.result import Finding, Report

_LEVELS = {"fail": "error", "warn": "warning"}


def results(run: Run) -> list[dict[str, Any]]:
    """All of them. Passes and optional skips are none: readers of results show every one as an alert."""
    told = [result for report in run.reports for result in _of_report(report)]
    if not run.reports:
        message = NOTHING if run.error is None else run.error.message
        told.append({**_result(INCOMPLETE, "error", message), **_fingerprints("ln-audit", INCOMPLETE, "")})
    return [_numbered(result, seen) for seen in [Counter[str]()] for result in told]


def text(message: str) -> dict[str, str]:
    """A message. `](` would make a link of a name: the two are set apart."""
    return {"text": short(message).replace("](", "] (")}


def _of_report(report: Report) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        if finding.status in _LEVELS:
            yield _finding(finding, report)
    if report.verdict.word == "incomplete":
        yield {
            **_result(INCOMPLETE, "error", f"{name(report)}: no verdict: {first(report)}"),
            **_located(report, "", ""),
            **_fingerprints(stable(report.source, ""), INCOMPLETE, ""),
        }


def _finding(finding: Finding, report: Report) -> dict[str, Any]:
    said = "; ".join(filter(None, (finding.message, finding.reason)))
    result = {
        **_result(finding.rule, _LEVELS[finding.status], said),
        **_located(report, finding.message, finding.subject),
        **_fingerprints(stable(report.source, finding.message), finding.rule, finding.subject),
        "properties": {"target": name(report), "revision": report.source.revision},
    }
    if waived(finding):
        because = short(str(finding.evidence.get("waived_because", "")))
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": because}]
    return result


def _result(rule: str, level: str, message: str) -> dict[str, Any]:
    return {"ruleId": rule, "kind": "fail", "level": level, "message": text(message)}


def _located(report: Report, message: str, subject: str) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri(report.source, message)}}}
    if subject:
        location["logicalLocations"] = [{"fullyQualifiedName": short(subject), "kind": "member"}]
    return {"locations": [location]}


def _fingerprints(where: str, rule: str, subject: str) -> dict[str, Any]:
    """The same in every run, at every revision and on every machine; measured numbers are therefore no part of them."""
    told = f"{where}\0{rule}\0{subject}".encode("utf-8", "backslashreplace")
    return {"partialFingerprints": {"lnAuditSubject/v1": hashlib.sha256(told).hexdigest()}}


def _numbered(result: dict[str, Any], seen: Counter[str]) -> dict[str, Any]:
    """The fingerprints with the number of the result among those of the same subject; GitHub takes only the second name."""
    mark = result["partialFingerprints"]["lnAuditSubject/v1"]
    seen[mark] += 1
    told = f"{mark}:{seen[mark]}"
    return {**result, "partialFingerprints": {"lnAuditSubject/v1": told, "primaryLocationLineHash": told}}
