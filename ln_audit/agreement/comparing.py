"""One recorded norm against the float64 reference, or why that says nothing; and what a recording says of its norm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.agreement.already_normed import already_normed
from ln_audit.agreement.candidates import norm_parameters, others, states
from ln_audit.agreement.carried import stated_epsilon
from ln_audit.agreement.recorded_weights import as_used, facts, other_weights, stated_digests
from ln_audit.comparison import Comparison
from ln_audit.core import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ln_audit.agreement.pairs import Pair
    from ln_audit.checks.subject import Subject
    from ln_audit.numerics.parameters import NormParameters

_MAPS = 32  # recorded norms of which a map of the error is kept: some 1 MB each
_ROUNDINGS = 3.0  # of the output dtype: the tolerance has one, a chain of its own may have two more


def recorded_epsilon(pair: Pair) -> Place | None:
    """The epsilon that a recording says it was made with, None when it says none. Raises `RecordingError` for no number."""
    stated = facts(pair.recording, pair.key).get("eps")
    if stated is None:
        return None
    return Place(f"{pair.given.label}: eps", stated_epsilon(pair.given.label, stated))


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
