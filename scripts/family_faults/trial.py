"""One fault in one model: planted, audited with every kind of recording, judged."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.errors import UsageError
from ln_audit.numerics.reference import NORMS
from scripts.family_faults.case import Case, NotHereError, pattern
from scripts.family_faults.expected import Expected, Trial, judged
from scripts.family_faults.planting import Planted, write_model, write_recording
from scripts.family_faults.registry import NONE, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.result import Report
    from scripts.family_faults.recorded import RecordedNorm


def trials(case: Case, fault: Fault) -> Iterator[Trial]:
    """Every trial of one fault; at least one, which says why where the model cannot have it."""
    if fault.alone is not None:
        yield fault.alone(case.model.model_type)
        return
    struck = {norm.name: norm for norm in _struck(case, fault)}.values()
    if not struck:
        yield Trial("", "", "not here", "no such norm")
    for norm in struck:
        yield from _trials(case, fault, norm)


def _struck(case: Case, fault: Fault) -> Iterator[RecordedNorm]:
    for which in fault.strikes:
        if which == "each pattern":
            yield from case.one_of_each()
        elif which == "all judged":
            yield from (norm for norm in case.model.norms if norm.judged)
        else:
            norm = case.final if which == "final" else case.block
            if norm is not None:
                yield norm


def _trials(case: Case, fault: Fault, norm: RecordedNorm) -> Iterator[Trial]:
    told = norm if fault.recorded == "struck" else case.final
    try:
        planted = fault.plant(case, norm)
    except NotHereError as reason:
        yield Trial(norm.name, "", "not here", str(reason))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_model(case.model, planted, place / "model")
        for kind, expected in fault.expected.items():
            lacks = _nothing(case) if kind == NONE else _unrecorded(case, told, planted, kind)
            if lacks is not None or told is None:
                yield Trial(norm.name, kind, "not here", lacks or "")
            else:
                yield _trial(case, expected, norm, told, planted, kind, place)


def _nothing(case: Case) -> str | None:
    """Why there is nothing to audit without a recording; None where there is."""
    return None if any(norm.tensors for norm in case.promised) else "no norm of it has parameters"


def _unrecorded(case: Case, norm: RecordedNorm | None, planted: Planted, kind: str) -> str | None:
    """Why there is no recording to give; None where there is one."""
    if norm is None:
        return "no final norm"
    if norm.kind is None:
        return "its run shows no norm over the last axis"
    promise = case.promise(norm)
    if promise is not None and promise.kind not in NORMS:
        return f"no recording is held against a {promise.kind}"
    dtype = kind.split(maxsplit=1)[0]
    return None if dtype in (planted.rows or norm.rows) else f"not run in {dtype}"


def _trial(
    case: Case, expected: Expected, norm: RecordedNorm, told: RecordedNorm, planted: Planted, kind: str, place: Path
) -> Trial:
    demands = [Demand()]
    if kind != NONE:
        recording = place / f"{kind}.safetensors"
        write_recording(case.model, planted.recorded or told, planted, kind, recording)
        demands = [Demand(recordings=(str(recording),), norm=name) for name in (None, told.name)]
    if told is not case.final:  # what is recorded is the final norm where nobody says otherwise
        demands = demands[-1:]
    try:
        report = _audited(str(place / "model"), demands)
    except Exception as error:  # noqa: BLE001  # a crash is the worst of misses
        return Trial(norm.name, kind, "missed", f"{type(error).__name__}: {error}".replace(f"{place}/", "")[:240])
    outcome = judged(expected, report, norm.name)
    if outcome.word == "missed" and expected.rule == "LN001" and case.vague(norm):
        return Trial(norm.name, kind, "not seen", f"{pattern(norm.name)}: some layers have it, and no key says which")
    return Trial(norm.name, kind, outcome.word, outcome.message.replace(f"{place}/", ""))


def _audited(target: str, demands: Sequence[Demand]) -> Report:
    """The report on the target; the last demand says what the first leave open, where that is asked for."""
    for demand in demands[:-1]:
        try:
            return audit(target, demand)[0]
        except UsageError:  # several final norms: one has to say which
            continue
    return audit(target, demands[-1])[0]
