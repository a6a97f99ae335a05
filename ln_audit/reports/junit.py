"""`--format junit`: a test suite per target, a test case per rule; a reader goes red exactly where the exit code is not 0.

A rule that failed anything is a failure. One that had to be decided and was not is an error, so are a target that could not
be audited and a rejected call: none of them is the artifact's fault. A rule that decided nothing else is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ln_audit.printable import short
from ln_audit.reports.summary import NOTHING, label, name, passed, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.reports.document import Run
    from ln_audit.result import Failure, Finding, Report

NAME = "junit"
_MOST = 100  # lines below one test case
_COUNTED = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}


def render(run: Run) -> str:
    """The document. Names and messages are printable text on one line, so that nothing in them is forbidden in XML."""
    root = ET.Element("testsuites", name="ln-audit")
    for report in run.reports:
        _suite(root, report)
    if run.error is not None or not run.reports:
        suite = ET.SubElement(root, "testsuite", name="ln-audit")
        case = ET.SubElement(suite, "testcase", classname="ln-audit", name="call")
        _error(case, run.error)
    for suite in root:
        for key, path in _COUNTED.items():
            suite.set(key, str(len(suite.findall(path))))
    for key, path in _COUNTED.items():
        root.set(key, str(len(root.findall(f"testsuite/{path}"))))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, report: Report) -> None:
    suite = ET.SubElement(root, "testsuite", name=name(report))
    properties = ET.SubElement(suite, "properties")
    told: dict[str, str | int | None] = {"target": title(report), "verdict": report.verdict.word}
    told["format"] = None if report.checkpoint is None else report.checkpoint.format
    told["family"] = None if report.family is None else report.family.name
    told["norm parameters"] = report.parameters.all_norms
    for key, value in told.items():
        if value is not None:
            ET.SubElement(properties, "property", name=key, value=short(str(value)))
    audited = ET.SubElement(suite, "testcase", classname=name(report), name="audit")
    if report.error is not None or not any(passed(report.findings)):
        _error(audited, report.error)
    for rule in dict.fromkeys(finding.rule for finding in report.findings):
        _case(suite, report, [finding for finding in report.findings if finding.rule == rule])


def _error(case: ET.Element, error: Failure | None) -> None:
    if error is None:
        ET.SubElement(case, "error", message=NOTHING, type="incomplete")
        return
    told = ET.SubElement(case, "error", message=short(error.message), type=short(error.kind))
    told.text = short(f"{error.message} → {error.hint}" if error.hint else error.message)


def _case(suite: ET.Element, report: Report, findings: Sequence[Finding]) -> None:
    case = ET.SubElement(suite, "testcase", classname=name(report), name=label(findings[0]))
    failed = [finding for finding in findings if finding.status == "fail"]
    skipped = [finding for finding in findings if finding.status == "skip"]
    required = [finding for finding in skipped if finding.required]
    if failed:
        message = _counted(failed[0].message, failed)
        ET.SubElement(case, "failure", message=message, type=findings[0].rule).text = _lines(failed)
    elif required:
        message = _counted(required[0].reason, required)
        ET.SubElement(case, "error", message=message, type="incomplete").text = _lines(required)
    elif len(skipped) == len(findings):
        ET.SubElement(case, "skipped", message=_counted(skipped[0].reason, skipped))
    beside = [f for f in findings if f.status == "warn" or (f.status == "skip" and f not in required)]
    if beside and len(skipped) < len(findings):
        ET.SubElement(case, "system-out").text = _lines(beside)


def _counted(message: str, findings: Sequence[Finding]) -> str:
    return short(message) + (f" (and {len(findings) - 1:,} more)" if len(findings) > 1 else "")


def _lines(findings: Sequence[Finding]) -> str:
    told = []
    for finding in findings[:_MOST]:
        said = (
            finding.reason if finding.status == "skip" else "; ".join(filter(None, (finding.message, finding.reason)))
        )
        told.append(short(f"{finding.status}: {finding.subject}: {said}"))
    more = len(findings) - len(told)
    return "\n".join([*told, *([f"and {more:,} more"] if more else [])])
