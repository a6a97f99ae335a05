"""Recordings against norms: which recording belongs to which norm, and what it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.already_normed import already_normed
from ln_audit.candidates import norm_parameters, others, states
from ln_audit.comparison import Comparison
from ln_audit.core import Norm, Place
from ln_audit.errors import RecordingError, UsageError
from ln_audit.recorded_weights import as_used, facts, other_weights, stated_digests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Checkpoint
    from ln_audit.demand import Demand
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import Recording

_MAPS = 32  # recorded norms of which a map of the error is kept: some 1 MB each
_ROUNDINGS = 3.0  # of the output dtype: the tolerance has one, a chain of its own may have two more


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


def carried_norm(path: str, checkpoint: Checkpoint, demand: Demand) -> Norm:
    """The norm that a recording describes itself; --kind, --eps and --offset say what it leaves out, and hold it to that.

    Raises `RecordingError` when nobody says what the norm is.
    """
    from ln_audit.recording import open_recording

    recording = open_recording(path)
    kind, eps = demand.kind or recording.metadata.get("kind"), recording.metadata.get("eps")
    gain = checkpoint.tensors.get("gain")
    if gain is None or kind is None or (eps is None and demand.eps is None):
        lacks = "tensor gain" if gain is None else "kind" if kind is None else "eps"
        raise RecordingError(
            f"{path}: expected a recording with its own gain, kind and eps, found no {lacks}",
            hint="name the model that it was recorded from: ln-audit verify TARGET --recording FILE",
        )
    width = recording.rows(recording.norms[0]).width
    for name in ("gain", "bias"):
        info = checkpoint.tensors.get(name)
        if info is not None and (info.shape != (width,) or info.dtype not in ("F64", "F32", "BF16", "F16")):
            raise RecordingError(
                f"{path}: {name}: expected floats of shape [{width}], found {info.dtype} {list(info.shape)}"
            )
    stated = Place(f"{path}: eps", _number(path, eps)) if eps is not None else None
    places = [Place("--eps", demand.eps)] if demand.eps is not None else []
    places += [] if stated is None else [stated]
    return Norm(
        name=recording.metadata.get("norm") or "norm",
        role="final",
        stack=None,
        layer=None,
        kind=kind,
        gain="gain",
        bias="bias" if "bias" in checkpoint.tensors else None,
        width=width,
        width_source="the width of before",
        eps=places[0].value,
        eps_origin="given" if demand.eps is not None else "written",
        eps_source=places[0].where,
        eps_places=tuple(places),
        weight_offset=demand.offset or 0.0,
    )


def _number(path: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise RecordingError(f"{path}: eps: expected a number, found {text[:40]!r}") from error


def find(subject: Subject, name: str) -> Norm | None:
    """The norm called `name`: as this container calls it, or as the family does, with or without its prefix."""
    prefixes = subject.family.prefixes if subject.family is not None else ("",)
    wanted = {name, *(prefix + name for prefix in prefixes), *(name.removeprefix(prefix) for prefix in prefixes)}
    named = (norm for norm in subject.norms if norm.name in wanted)
    return next(named, None) or next((norm for norm in subject.norms if norm.promised in wanted), None)


def packaged_name(subject: Subject) -> str | None:
    """The file of the packaged recording, which is always of the final norm, whatever --norm says of the user's own."""
    return None if subject.known is None else str(subject.known.recording)


def recorded_epsilon(pair: Pair) -> Place | None:
    """The epsilon that a recording says it was made with, None when it says none. Raises `RecordingError` for no number."""
    stated = facts(pair.recording, pair.key).get("eps")
    if stated is None:
        return None
    return Place(f"{pair.given.label}: eps", _number(pair.given.label, stated))


def claims(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """What a recording says of its norm that is not what the target's is: (where, expected, found)."""
    kind = facts(pair.recording, pair.key).get("kind")
    if kind is not None and kind != pair.norm.kind:
        yield f"{pair.given.label}: kind", pair.norm.kind, kind


def compare(pair: Pair, subject: Subject) -> Comparison:
    """One recorded norm against the float64 reference, or the reason why that says nothing. Raises `RecordingError`."""
    from ln_audit.diagnosis import compare as diagnosed
    from ln_audit.resolving_power.resolve import resolve

    norm, demand, metadata = pair.norm, subject.demand, facts(pair.recording, pair.key)
    parameters = norm_parameters(subject, norm)
    digests = stated_digests(pair.recording, pair.key)
    if parameters is None:
        told = f"{norm.name}: its gain, bias or epsilon is not known, so nothing was compared"
        return _undecided(pair, "no-parameters", told)
    incomparable = _incomparable(pair, parameters, digests)
    if incomparable is not None:
        return incomparable
    parameters = as_used(digests, norm, parameters)
    stated = demand.output_dtype or metadata.get("output_dtype")
    rows, rounded = pair.recording.rows(pair.key), demand.before_rounded or metadata.get("before_rounded")
    comparison = diagnosed(
        rows,
        parameters,
        norm=norm.name,
        recording=pair.given.label,
        provenance=pair.given.provenance,
        output_dtype=stated,
        output_dtype_source="given by the caller" if demand.output_dtype else "stated by the recording",
        before_rounded=rounded,
        packaged=pair.given.packaged,
        pictures=demand.pictures and sum(each.shares is not None for each in subject.comparisons) < _MAPS,
        others=lambda: others(subject, norm),
        states=lambda: states(pair.recording, pair.key),
    )
    # What was read is asked about; a pass is no reason to read more.
    read = others if not subject.unread() else lambda *_: ()
    comparison = replace(comparison, notes=tuple(_notes(pair, rounded)), weights="same" if digests else "unknown")
    if norm.chain == "other" and _one_rounding_more(comparison):
        told = "its family rounds in a way of its own, and a narrow run of it cannot be judged to the last bit"
        return replace(comparison, status="skip", finding="another-chain", message=f"{comparison.message}; {told}")
    if comparison.status == "pass" and already_normed(rows, parameters):
        return replace(
            comparison,
            status="warn",
            finding="already-normed",
            message=f"{comparison.message}; but before already carries {norm.name}: (before − bias)/gain has mean square 1 in every row",
        )
    return resolve(comparison, rows, parameters, before_rounded=rounded, others=lambda: read(subject, norm))


def _incomparable(pair: Pair, parameters: NormParameters, digests: Mapping[str, str]) -> Comparison | None:
    """Why a recording is held against nothing; None where it can be."""
    from ln_audit.numerics.reference import NORMS

    norm = pair.norm
    if norm.kind not in NORMS:  # one of them among many must not keep the others from being compared
        told = f"{norm.name}: kind {norm.kind}: no reference to hold it against: cannot tell"
        return _undecided(pair, "no-reference", told)
    other = other_weights(digests, norm, parameters)
    if other is None:
        return None
    status = "skip" if pair.given.packaged else "fail"
    return _undecided(pair, "other-weights", f"{pair.recording.name}: {other}", status=status)


def _one_rounding_more(comparison: Comparison) -> bool:
    """Whether a narrow run is off by no more than a rounding or two in its own dtype would make: u_o·|y| each."""
    narrow = comparison.output_dtype in ("bfloat16", "float16")
    return comparison.status != "pass" and narrow and (comparison.max_error_ratio or 0.0) <= _ROUNDINGS


def _notes(pair: Pair, rounded: str | None) -> Iterator[str]:
    """What a reader should know of how the comparison was made."""
    metadata = facts(pair.recording, pair.key)
    if rounded is not None:
        says = ", as it says" if metadata.get("before_rounded") else ""
        yield f"bounds widened: `before` was rounded to {rounded} after the norm had read it{says}"
    if metadata.get("model") and not pair.given.packaged:
        revision = f" at {metadata['revision']}" if metadata.get("revision") else ""
        yield f"says that it was recorded from {metadata['model']}{revision}"


def _undecided(pair: Pair, finding: str, message: str, status: str = "skip") -> Comparison:
    return Comparison(
        norm=pair.norm.name,
        recording=pair.given.label,
        provenance=pair.given.provenance,
        status="fail" if status == "fail" else "skip",
        finding=finding,
        message=message,
        packaged=pair.given.packaged,
    )
