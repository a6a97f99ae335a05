"""One conversion with one fault or none: written, held to its source, and what came of it in a word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from ln_audit.audit import audit
from ln_audit.demand import Demand
from scripts.source_faults.artifacts import converted
from scripts.source_faults.models import build
from scripts.source_faults.registry import ANOTHER, FAULTS, HEALTHY, NEVER
from scripts.source_faults.writers import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ln_audit.core import Status
    from ln_audit.result import Finding, Report
    from scripts.source_faults.faults import Planted
    from scripts.source_faults.models import Model, Spec
    from scripts.source_faults.registry import Fault, Seen

Word = Literal[
    "passes", "named", "warned", "cannot tell", "not seen", "other cause", "false alarm", "missed", "not here"
]
BAD: tuple[Word, ...] = ("other cause", "false alarm", "missed")


@dataclass(frozen=True)
class Way:
    """A conversion: container and dtype of the source, and of the artifact. `added` as `artifacts.converted` has it."""

    source: tuple[str, str]
    artifact: tuple[str, str]
    added: bool = False
    through: str = ""  # a container that it went through on its way

    @property
    def name(self) -> str:
        """`safetensors BF16 → gguf F32`."""
        through = f" → {self.through}" if self.through else ""
        return f"{' '.join(self.source)}{through} → {' '.join(self.artifact)}{', 1 added' if self.added else ''}"


_HUB, _NARROW = ("safetensors", "F32"), ("safetensors", "BF16")
WAYS: tuple[Way, ...] = (
    Way(_HUB, _HUB),
    Way(_NARROW, _NARROW),
    Way(_HUB, _NARROW),
    Way(_HUB, ("safetensors", "F16")),
    Way(("gguf", "F32"), _HUB),
    Way(("gguf", "F32"), _NARROW),
    Way(_HUB, _HUB, through="gguf"),
    Way(_HUB, ("gguf", "F32")),
    Way(_NARROW, ("gguf", "F32")),
    Way(_HUB, ("bin", "F32")),
    Way(_NARROW, ("bin", "BF16")),
    Way(_HUB, ("onnx", "F32")),
    Way(_NARROW, ("onnx", "F16")),
    Way(_HUB, ("npz", "F32")),
    Way(_HUB, ("npz", "F16")),
    Way(_HUB, ("npz", "F32"), added=True),
)


@dataclass(frozen=True)
class Trial:
    """What came of one fault on one way of one family, and the message that decided it."""

    family: str
    way: Way
    fault: str
    word: Word
    told: str = ""


def trials(spec: Spec, ways: Iterable[Way] = WAYS) -> Iterator[Trial]:
    """All faults on all ways of one family, the healthy conversion first."""
    model = build(spec)
    with TemporaryDirectory() as folder:
        for number, way in enumerate(ways):
            yield from _on(model, way, Path(folder) / str(number))


def _on(model: Model, way: Way, folder: Path) -> Iterator[Trial]:
    source = write(converted(model, *way.source), folder / "source")
    read = build(model.spec)
    rounded = as_held(read, way.source)
    if way.through:
        rounded = as_held(rounded, (way.through, "F32"))
    healthy = converted(rounded, *way.artifact, added=way.added)
    yield Trial(model.spec.family, way, HEALTHY, *_healthy(audited(write(healthy, folder / HEALTHY), source)))
    for number, fault in enumerate(FAULTS):
        planted = fault.plant(healthy)
        if planted is None:
            yield Trial(model.spec.family, way, fault.name, "not here")
            continue
        report = audited(write(planted.artifact, folder / str(number)), source)
        yield Trial(model.spec.family, way, fault.name, *judged(fault, planted, report, way))


def as_held(model: Model, form: tuple[str, str]) -> Model:
    """The model as a converter reads it from a container and dtype: in the Hub's convention, after that rounding."""
    held = converted(model, *form)
    if form[0] == "safetensors":
        return replace(model, tensors={name: array.astype(np.float32) for name, array in held.tensors.items()})
    tensors = dict(model.tensors)
    for each in held.held:
        if each.norm.gain is not None and each.gain is not None:
            tensors[each.norm.gain] = held.tensors[each.gain] - np.float32(each.norm.weight_offset - each.lacks)
    return replace(model, tensors=tensors)


def audited(target: str, source: str) -> Report:
    """The report of `verify TARGET --against SOURCE`."""
    (report,) = audit(target, Demand(against=source))
    return report


def _healthy(report: Report) -> tuple[Word, str]:
    wrong = [f for f in report.findings if f.status in ("fail", "warn") or (f.status == "skip" and f.required)]
    if report.error is not None:
        return "false alarm", report.error.message
    if wrong:
        alarm: Word = "cannot tell" if all(f.status == "skip" for f in wrong) else "false alarm"
        return alarm, _said(wrong[0])
    return "passes", ""


def judged(fault: Fault, planted: Planted, report: Report, way: Way) -> tuple[Word, str]:
    """Whether the fault was seen, named, and nothing else was blamed."""
    if report.error is not None:
        return "other cause", report.error.message
    planted, reason = _unseen(fault, planted, way)
    if reason and not planted.struck:
        return ("not seen", reason) if report.verdict.word == "pass" else ("other cause", report.verdict.word)
    for seen in (fault.seen, *fault.otherwise):
        if seen.status == "skip" and way.source[0] == way.artifact[0] == "safetensors":
            continue  # the matrices beside the norm are there to be compared
        found = [f for f in report.findings if _is(f, seen)]
        if found and _blames(found, planted, report) and report.verdict.word == _VERDICT[seen.status]:
            return _WORD[seen.status], _said(found[0])
    loud = [f for f in report.findings if f.status in ("fail", "warn") or (f.status == "skip" and f.required)]
    said = "; ".join(dict.fromkeys(_said(f) for f in loud[:3]))
    return ("missed" if report.verdict.word == "pass" else "other cause"), said


_VERDICT = {"fail": "fail", "warn": "pass", "skip": "incomplete"}
_WORD: dict[str, Word] = {"fail": "named", "warn": "warned", "skip": "cannot tell"}


def _is(finding: Finding, seen: Seen) -> bool:
    explained = finding.evidence.get("explanation", "") if finding.rule == "LN301" else ""
    return (finding.rule, finding.status, explained) == (seen.rule, seen.status, seen.explanation)


def _blames(found: list[Finding], planted: Planted, report: Report) -> bool:
    """Exactly the struck norms are blamed, each with this explanation; a fault of the epsilon strikes no single norm."""
    if not planted.struck:
        return True
    names = {each.norm.name: each.norm.promised for each in report.norms}
    blamed = {names[f.subject] for f in found if f.subject in names}
    status: tuple[Status, ...] = ("fail", "skip")
    others = {
        names[f.subject] for f in report.findings if f.rule == "LN301" and f.status in status and f.subject in names
    }
    return blamed == set(planted.struck) and others <= set(planted.struck)


def _unseen(fault: Fault, planted: Planted, way: Way) -> tuple[Planted, str]:
    """What is left of a fault in an artifact that shows nothing of the rest, and why it does not."""
    held = planted.artifact.held
    if fault.name == ANOTHER and not planted.struck:
        return planted, "no norm has parameters, and matrices are not compared"
    either = ("gain − 1, all norms", NEVER) if way.added else ("gain + 1, all norms",)
    if way.artifact[0] != "npz" or fault.name not in either:
        return planted, ""
    kept = [each.norm.promised for each in held if not each.norm.weight_offset]
    struck = tuple(name for name in planted.struck if name in kept)
    reason = "it is as an exporter of the other convention would have written it, and nothing in an archive says which"
    return replace(planted, struck=struck), reason if struck != planted.struck else ""


def _said(finding: Finding) -> str:
    return f"{finding.rule} {finding.status} {finding.subject}: {finding.message} ({finding.reason})"
