"""The value in the middle: findings, and the one frozen report that every output is made from. Its verdict *is* the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from ln_audit.printable import one_line, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.comparison import Comparison
    from ln_audit.core import FileUse, Norm, Recognised, SourceKind, Status
    from ln_audit.pictures import Channels


# What a finding on values alone, without a twin to compare with, is worth; it stands in its evidence. `certain`: no model
# that works has this. `likely`: a fault, or something done on purpose that its author can name; no healthy checkpoint that was
# measured has it. `possible`: healthy models have it too, so it is worth a look and no more.
Confidence = Literal["certain", "likely", "possible"]


_ORDER: tuple[Status, ...] = ("fail", "warn", "skip", "pass")
_REPR = 300  # characters of a report at a prompt


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule on one subject. `required`: while it is a skip, the verdict is incomplete."""

    rule: str
    name: str
    status: Status
    subject: str
    message: str
    reason: str = ""
    evidence: Mapping[str, float | str | None] = field(default_factory=dict)
    required: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's identity: id and name never change meaning and are never reused."""

    id: str
    name: str

    def passed(self, subject: str, message: str, **evidence: float | str | None) -> Finding:
        """The subject is what it should be."""
        return self._finding("pass", subject, message, "", evidence)

    def failed(self, subject: str, message: str, reason: str = "", **evidence: float | str | None) -> Finding:
        """The subject is wrong; `reason` is the likely cause and the way out."""
        return self._finding("fail", subject, message, reason, evidence)

    def warned(self, subject: str, message: str, reason: str = "", **evidence: float | str | None) -> Finding:
        """The subject is unusual; a person should look."""
        return self._finding("warn", subject, message, reason, evidence)

    def skipped(self, subject: str, reason: str, *, required: bool = False, **evidence: float | str | None) -> Finding:
        """The rule applies but was not decided."""
        return replace(self._finding("skip", subject, "not decided", reason, evidence), required=required)

    def _finding(
        self, status: Status, subject: str, message: str, reason: str, evidence: Mapping[str, float | str | None]
    ) -> Finding:
        """Names from a checkpoint stand in all of these: each is one line, whatever the name holds."""
        return Finding(self.id, self.name, status, one_line(subject), one_line(message), one_line(reason), evidence)


def leads(finding: Finding) -> bool:
    """Whether it is a failure that explains others, as `explains` of its evidence says, and is to be said first."""
    return finding.status == "fail" and bool(finding.evidence.get("explains"))


class Verdict(IntEnum):
    """The verdict; its number is the exit code."""

    PASS = 0
    FAIL = 1
    INCOMPLETE = 3

    @property
    def word(self) -> Literal["pass", "fail", "incomplete"]:
        """As it stands in every output."""
        return ("pass", "fail", "incomplete")[(0, 1, 3).index(self.value)]


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One norm tensor as read: digests over the stored bytes and over the effective values, and its statistics."""

    name: str
    role: Literal["gain", "bias"]
    shape: tuple[int, ...]
    dtype: str
    sha256: str | None = None
    value_sha256: str | None = None
    mean: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None
    argmin: int | None = None  # channels of the extremes
    argmax: int | None = None
    histogram: tuple[int, ...] = ()  # counts over equal bins from min to max
    channels: Channels | None = field(default=None, metadata={"picture": True})  # in no document


@dataclass(frozen=True, slots=True)
class NormReport:
    """One promised norm with the tensors found for it. `parameters` is counted from those tensors."""

    norm: Norm
    tensors: tuple[TensorReport, ...]
    parameters: int


@dataclass(frozen=True, slots=True)
class Parameters:
    """Elements counted from the checkpoint's tensors; None with a reason where they cannot be."""

    final_norm: int | None = None
    all_norms: int | None = None
    checkpoint: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Where the bytes came from and what they cost."""

    spec: str
    kind: SourceKind
    identity: str
    revision: str | None
    files: tuple[FileUse, ...]
    requests: int
    bytes_read: int


@dataclass(frozen=True, slots=True)
class AgainstReport:
    """What an artifact was held to with --against: where that is and what reading it cost, and how many norms were paired."""

    source: SourceReport
    family: str | None
    pairs: int


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What the container holds."""

    format: str
    tensors: int
    dtypes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an input could not be audited."""

    kind: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """All that one audit found out. Every output is made from it, and from nothing else."""

    source: SourceReport
    checkpoint: CheckpointReport | None = None
    family: Recognised | None = None
    norms: tuple[NormReport, ...] = ()
    parameters: Parameters = Parameters()
    comparisons: tuple[Comparison, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    error: Failure | None = None
    against: AgainstReport | None = None

    @property
    def verdict(self) -> Verdict:
        """Fail if any finding failed; else incomplete if something required was skipped or nothing passed; else pass."""
        statuses = {finding.status for finding in self.findings}
        if "fail" in statuses:
            return Verdict.FAIL
        gaps = any(finding.status == "skip" and finding.required for finding in self.findings)
        if self.error is not None or gaps or "pass" not in statuses:
            return Verdict.INCOMPLETE
        return Verdict.PASS

    def __bool__(self) -> bool:
        """No truth value: `if report:` would be true of a report that fails. Raises `TypeError`."""
        raise TypeError("a report has no truth value: ask for report.verdict")

    def __repr__(self) -> str:
        """What a person reads at a prompt: verdict, target, family and counts; every field is there by its name."""
        statuses = [finding.status for finding in self.findings]
        counts = [f"{statuses.count(each)} {each}" for each in dict.fromkeys(sorted(statuses, key=_ORDER.index))]
        told = self.error.message if self.error is not None else ", ".join(counts) or "no findings"
        family = "" if self.family is None else f" {self.family.name}, {len(self.norms)} norms,"
        return short(f"<Report {self.verdict.word}: {self.source.spec}:{family} {told}>", _REPR)
