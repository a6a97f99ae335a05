"""How a fault has to be seen, as data, and what a report makes of it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.result import Finding, Report

Way = Literal["fails by", "warns by", "cannot be seen without the source", "passes"]
# What became of one fault in one audit, the best first. The last two are what must not be.
OUTCOMES = (
    "passes",
    "named",
    "warned",
    "cannot tell",
    "not seen",
    "unexplained",
    "other cause",
    "false alarm",
    "missed",
)
BAD = ("false alarm", "missed")
# What a comparison is when it says itself that rounding can have done this, and it may be a fault all the same.
_UNDECIDED = {
    ("skip", "unexplained"),
    ("skip", "before-rounded"),
    ("skip", "another-chain"),
    ("warn", "cannot-tell"),
    ("warn", "summation-order"),
}
_LONGEST = 240  # characters of a message that is kept


@dataclass(frozen=True)
class Expected:
    """One right answer. `explained` is what a cause that the diagnosis names has to match; `hidden` are the hypotheses by
    which the resolving power may say that these rows do not show the fault, and then it is "cannot tell" and no miss.
    """

    way: Way
    rule: str = ""
    subject: str = "{norm}"
    says: str = ""
    explained: str = ""
    hidden: tuple[str, ...] = ()
    reason: str = ""
    otherwise: Expected | None = None  # another answer that is as right


@dataclass(frozen=True)
class Trial:
    """What became of one fault, in one norm, with one kind of recording. `word` "not here": `message` says why."""

    norm: str
    recording: str
    word: str
    message: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it stands in the results."""
        return asdict(self)


@dataclass(frozen=True)
class Outcome:
    """What became of one fault in one audit, and what ln-audit said."""

    word: str
    message: str = ""


def judged(expected: Expected, report: Report, norm: str) -> Outcome:
    """The outcome of an audit of a fault that struck `norm`."""
    if expected.way == "passes":
        return _healthy(report)
    if expected.way == "cannot be seen without the source":
        return _unseen(report, norm)
    status = "fail" if expected.way == "fails by" else "warn"
    found = [each for each in _about(expected, report, norm) if each.status == status and expected.says in each.message]
    if found and (status == "warn" or report.verdict.word == "fail"):
        return _named(expected, report, norm, found)
    if expected.otherwise is not None:
        return judged(expected.otherwise, report, norm)
    return _otherwise(expected, report, norm)


def _about(expected: Expected, report: Report, norm: str) -> list[Finding]:
    """The findings of the expected rule on the expected subject."""
    subject = expected.subject.format(norm=re.escape(norm))
    return [each for each in report.findings if each.rule == expected.rule and re.match(subject, each.subject)]


def _healthy(report: Report) -> Outcome:
    loud = [each for each in report.findings if each.status in ("fail", "warn")]
    loud = loud or [each for each in report.findings if each.status == "skip" and each.required]
    if report.verdict.word == "pass" and not loud:
        return Outcome("passes")
    if {each.rule for each in loud} == {"LN201"} and all(
        each.finding == "another-chain" for each in report.comparisons
    ):
        return Outcome("cannot tell", report.comparisons[0].message[:_LONGEST])
    return Outcome("false alarm", said(report, loud))


def _unseen(report: Report, norm: str) -> Outcome:
    """Nothing shows it; all that counts is that nobody says to have seen that the norm is right."""
    claimed = [each for each in report.findings if each.status == "pass" and each.rule.startswith("LN2")
               and each.subject.startswith(f"{norm} against ")]  # fmt: skip
    if report.verdict.word == "fail":
        return Outcome("named", said(report, [each for each in report.findings if each.status == "fail"]))
    return Outcome("missed", said(report, claimed)) if claimed else Outcome("not seen")


def _named(expected: Expected, report: Report, norm: str, found: list[Finding]) -> Outcome:
    """Seen by the right rule; of a number the cause counts too: the right one, none, or one that explains it as well."""
    if not expected.explained:
        return Outcome("warned" if expected.way == "warns by" else "named", found[0].message[:_LONGEST])
    causes = [cause.name for each in _of(report, norm) for cause in each.explained_by]
    if any(re.match(expected.explained, cause) for cause in causes):
        return Outcome("named", causes[0][:_LONGEST])
    if not causes:
        return Outcome("unexplained", found[0].message[:_LONGEST])
    return Outcome("other cause", "; ".join(causes)[:_LONGEST])


def _otherwise(expected: Expected, report: Report, norm: str) -> Outcome:
    """Not failed as it should have: either it is said that this cannot be told, or it was missed."""
    for each in _of(report, norm):
        hidden = {str(entry["hypothesis"]) for entry in each.cannot_tell} & set(expected.hidden)
        if each.status == "pass" and hidden and report.verdict.word == "pass":
            return Outcome("cannot tell", f"passes, and says that it cannot tell: {', '.join(sorted(hidden))}")
        if (each.status, each.finding) in _UNDECIDED:
            return Outcome("cannot tell", each.message[:_LONGEST])
    skipped = [each for each in _about(expected, report, norm) if each.status == "skip"]
    if skipped and expected.rule != "LN201":
        return Outcome("cannot tell", skipped[0].reason[:_LONGEST])
    loud = [
        each for each in report.findings if each.status in ("fail", "warn") or (each.status == "skip" and each.required)
    ]
    return Outcome("missed", said(report, loud))


def _of(report: Report, norm: str) -> list[Comparison]:
    return [each for each in report.comparisons if each.norm == norm]


def said(report: Report, findings: Sequence[Finding]) -> str:
    """The verdict, and the findings that stand behind it."""
    if report.error is not None:
        return f"{report.verdict.word}: {report.error.message}"[:_LONGEST]
    told = [
        f"{each.rule} {each.status} {each.subject}: {each.message if each.status != 'skip' else each.reason}"
        for each in findings
    ]
    return "; ".join([report.verdict.word, *told[:3]])[:_LONGEST]
