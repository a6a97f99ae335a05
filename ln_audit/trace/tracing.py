"""`ln-audit trace`: a recording, and the norm's parameters from a target or from the recording itself, become a picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.agreement.carried import carried_parameters
from ln_audit.errors import RecordingError, UsageError
from ln_audit.examination import promised
from ln_audit.trace.stream import trace

if TYPE_CHECKING:
    from ln_audit.demand import Demand
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import Recording
    from ln_audit.trace.stream import Trace


FORMATS = ("text", "html")
_WAY = (
    "ln-audit record TARGET --random 64 --hidden-states -o run.safetensors makes one, and ln_audit.capture around a run"
)


def traced(file: str | None, target: str | None, demand: Demand) -> Trace:
    """The trace of a recording. Raises `UsageError` and `AuditError`, for what is no recording with how one is made."""
    from ln_audit.recording import open_recording

    if file is None:
        raise UsageError("recording: expected a safetensors file with before and after, found none", hint=_WAY)
    try:
        recording = open_recording(file)
    except RecordingError as error:
        raise RecordingError(error.message, hint="; ".join(filter(None, (error.hint, _WAY)))) from error
    key = demand.norm if demand.norm in recording.norms else None
    parameters = carried_parameters(recording) if target is None else _of_target(target, demand, recording)
    return trace(recording, key, parameters)


def told(found: Trace, form: str) -> str:
    """The trace in one of `FORMATS`, ending with a newline."""
    if form == "html":
        from ln_audit.trace import html

        return html.render(found)
    from ln_audit.trace import text

    return text.render(found) + "\n"


def _of_target(target: str, demand: Demand, recording: Recording) -> NormParameters | None:
    """The parameters of the target's norm that the recording belongs to."""
    from ln_audit.agreement import chosen
    from ln_audit.agreement.candidates import norm_parameters

    subject = promised(target, replace(demand, values="all" if demand.norm else "final"))
    return norm_parameters(subject, chosen(subject, recording))
