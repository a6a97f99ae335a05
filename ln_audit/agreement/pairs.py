"""Which recordings there are, and which norm each recorded one belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.recording import Recording


class Given(NamedTuple):
    """A recording to compare with, where it comes from, and whether it is ours rather than the user's."""

    path: str
    label: str
    provenance: str
    packaged: bool = False
    after: str | None = None  # the second array where --before and --after name two


class Pair(NamedTuple):
    """One recorded norm: the recording, the name it has in there, and the promised norm it belongs to."""

    given: Given
    recording: Recording
    key: str
    norm: Norm


def given(subject: Subject, sample: str | None) -> Iterator[Given]:
    """The user's recordings first, then the sample's own, then the one that the package holds of a published model."""
    demand = subject.demand
    for path in demand.recordings:
        yield Given(path, path, "recording given by the caller")
    if demand.before is not None and demand.after is not None:
        yield Given(
            demand.before, f"{demand.before} → {demand.after}", "arrays given by the caller", after=demand.after
        )
    if demand.record is not None:
        made, how = demand.record()
        yield Given(made, "the recording made in this process", how)
    if sample is not None:
        yield Given(
            sample, "the sample's recording", "packaged with the sample: recorded from a real forward pass of it"
        )
    if subject.known is not None:
        yield Given(
            str(subject.known.recording),
            f"the packaged recording of {subject.known.repo}",
            "packaged: synthetic states put through PyTorch's LayerNorm; your own runtime is judged with --recording",
            packaged=True,
        )


def pairs(given: Given, subject: Subject) -> Iterator[Pair]:
    """Every recorded norm of one recording with the norm it belongs to.

    Raises `RecordingError` for an unusable recording, `UsageError` when --norm names no norm or is needed and missing.
    """
    from ln_audit.recording import open_pair, open_recording

    recording = open_recording(given.path) if given.after is None else open_pair(given.path, given.after)
    for key in _asked_for(recording, subject, given):
        if key:
            named = find(subject, key)
            if named is None:
                raise RecordingError(f"{recording.name}: {key}: expected a norm of the target, found none of that name")
            yield Pair(given, recording, key, named)
        else:
            yield Pair(given, recording, key, chosen(subject, recording))


def _asked_for(recording: Recording, subject: Subject, given: Given) -> Sequence[str]:
    """The pairs to compare: all of them, or with --norm the one of that norm, which must then be there."""
    demanded = subject.demand.norm
    if demanded is None or given.packaged or "" in recording.norms:
        return recording.norms
    wanted = find(subject, demanded)
    keys = [key for key in recording.norms if find(subject, key) == wanted]
    if not keys:
        raise RecordingError(
            f"{recording.name}: expected a recording of {demanded}, found {', '.join(recording.norms[:5])}"
        )
    return keys


def chosen(subject: Subject, recording: Recording) -> Norm:
    """The norm of a recording that holds one pair: --norm, else what the recording says, else the final norm.

    Raises `UsageError` when --norm names no norm or is needed, `RecordingError` when the recording names an unknown one.
    """
    demanded = subject.demand.norm
    if demanded is not None and recording.name != packaged_name(subject):
        norm = find(subject, demanded)
        if norm is None:
            raise UsageError(f"--norm {demanded}: expected a norm of the target, found none of that name")
        return norm
    named = recording.metadata.get("norm")
    if named:
        norm = find(subject, named)
        if norm is None:
            raise RecordingError(
                f"{recording.name}: norm: expected a norm of the target, found {named!r}", hint="name it with --norm"
            )
        return norm
    final = [norm for norm in subject.norms if norm.role == "final" and (norm.main or norm.stack == "encoder")]
    if len(final) != 1:
        told = ", ".join(norm.name for norm in final) or "none"
        raise UsageError(f"{recording.name}: expected one final norm, found {told}", hint="say which with --norm NAME")
    return final[0]


def find(subject: Subject, name: str) -> Norm | None:
    """The norm called `name`: as this container calls it, or as the family does, with or without its prefix."""
    prefixes = subject.family.prefixes if subject.family is not None else ("",)
    wanted = {name, *(prefix + name for prefix in prefixes), *(name.removeprefix(prefix) for prefix in prefixes)}
    named = (norm for norm in subject.norms if norm.name in wanted)
    return next(named, None) or next((norm for norm in subject.norms if norm.promised in wanted), None)


def packaged_name(subject: Subject) -> str | None:
    """The file of the packaged recording, which is always of the final norm, whatever --norm says of the user's own."""
    return None if subject.known is None else str(subject.known.recording)
