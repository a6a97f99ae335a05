"""What was done to a recording that the reference does not explain: every hypothesis tried, simplest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.comparison import Explanation
from ln_audit.diagnosis.hypothesis import FITTED, Batch
from ln_audit.diagnosis.nearest import Nearest, described
from ln_audit.diagnosis.sample import batches, evidence, take
from ln_audit.diagnosis.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.diagnosis.hypothesis import Fault, Hypothesis, Suspect
    from ln_audit.diagnosis.sample import Evidence
    from ln_audit.numerics.judge import Hypothesis as Honest

MOST = 3  # explanations that are told


class Diagnosis(NamedTuple):
    """Faults that explain every element, simplest first; where none does, in words how far the nearest one goes.

    `undecided`: it goes all the way, and so may the rounding of the run's sums.
    """

    explanations: tuple[Explanation, ...]
    nearest: str = ""
    undecided: bool = False


def search(hypotheses: Sequence[Hypothesis], suspect: Suspect, honest: Honest, *, bounded: bool = False) -> Diagnosis:
    """Try all hypotheses on the worst rows and a sample, and those that explain these on the whole recording.

    A hypothesis that takes numbers from the output bends to much that simpler ones explain too, so it is tried only
    where none of those does; and where a recording is `bounded` by the worst case of its sums, the numbers it takes may be
    nothing but their rounding: there it is mentioned and does not explain. `honest` is the way the run is held to
    otherwise; it tells the worst rows.
    """
    seen = evidence(suspect.rows, honest, suspect.setting)
    nearest = Nearest()
    for freedom in sorted({each.FREEDOM for each in hypotheses}):
        explained: list[Explanation] = []
        for hypothesis in (each for each in hypotheses if freedom == each.FREEDOM and each.applies(suspect)):
            explained += _explaining(hypothesis, suspect, seen, nearest)
        if any("state" in each.parameters for each in explained):  # the run's own input: nothing was done to the norm
            explained = [each for each in explained if "state" in each.parameters]
        if explained and bounded and freedom >= FITTED:
            return Diagnosis(
                (), f"{explained[0].name} would explain it, and so would the rounding of its sums", undecided=True
            )
        if explained:
            return Diagnosis(tuple(explained[:MOST]))
    return Diagnosis((), described(nearest, suspect, seen.sample))


def _explaining(hypothesis: Hypothesis, suspect: Suspect, seen: Evidence, nearest: Nearest) -> list[Explanation]:
    """The hypothesis' faults that explain everything, those of one kin together; the others are offered as nearest."""
    found: dict[str, list[Trial]] = {}
    fitted = hypothesis.FREEDOM >= FITTED
    given = seen.sample if fitted else Batch(seen.sample.at, seen.sample.before)
    for fault in hypothesis.faults(suspect, given):
        kin = fault.kin or fault.name
        if kin in found and (fitted or not fault.parameters):
            continue  # a number with more digits, or the same once more with other rounding
        trial = _confirmed(fault, suspect, seen, nearest)
        if trial is not None:
            found.setdefault(kin, []).append(trial)
    return [_explanation(trials) for trials in found.values()]


def _explanation(trials: Sequence[Trial]) -> Explanation:
    """The first of its kin, and which other numbers would do as well."""
    first, *others = trials
    also = ", ".join(f"{number:g}" for each in others for number in each.fault.parameters.values())
    name = f"{first.fault.name} ({also} would fit too)" if also else first.fault.name
    return Explanation(name, first.best.ratio, dict(first.fault.parameters), first.fault.advice)


def _confirmed(fault: Fault, suspect: Suspect, seen: Evidence, nearest: Nearest) -> Trial | None:
    """The fault's trial on everything, or None as soon as an element is left over."""
    trial = Trial(fault, suspect)
    for batch in _stages(fault, suspect, seen):
        trial.add(batch)
        if not trial.explains:
            nearest.offer(fault, trial.best.missed / max(1, batch.before.size))
            return None
    return trial


def _stages(fault: Fault, suspect: Suspect, seen: Evidence) -> Iterator[Batch]:
    """The probe, the rest of the sample, the rest of the recording, with the fault's own input."""
    rows = suspect.rows if fault.state is None else suspect.states[fault.state]
    if fault.state is None:
        yield from (batch for batch in (seen.probe, seen.others) if len(batch.at))
    else:
        yield take(rows, seen.sample.at)
    if not seen.whole:
        yield from batches(rows)
