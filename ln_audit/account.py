"""The accounting: what each promised norm really holds, counted and measured from the tensors, and what was not looked at."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.families import recognise
from ln_audit.families.parameters import count
from ln_audit.families.reading import unknown_parts
from ln_audit.formats.dtypes import DTYPES
from ln_audit.printable import without_secrets
from ln_audit.result import CheckpointReport, NormReport, Parameters, SourceReport, TensorReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Checkpoint, Norm, Source
    from ln_audit.pictures import Channels

_BINS = 24  # of the small histogram: what fits beside a name in a terminal


def source_report(source: Source) -> SourceReport:
    """What the source is and what reading from it cost so far."""
    used = tuple(source.used)
    return SourceReport(
        without_secrets(source.spec),
        source.kind,
        source.identity,
        source.revision,
        used,
        source.requests,
        sum(file.bytes_read for file in used),
    )


def checkpoint_report(checkpoint: Checkpoint) -> CheckpointReport:
    """How many tensors of which dtypes the container holds."""
    dtypes = Counter(info.dtype for info in checkpoint.tensors.values())
    return CheckpointReport(checkpoint.format, len(checkpoint.tensors), dict(sorted(dtypes.items())))


def norm_reports(subject: Subject) -> tuple[NormReport, ...]:
    """Every promised norm with its tensors as found; values only where they were read."""
    return tuple(_norm_report(norm, subject) for norm in subject.norms)


def _norm_report(norm: Norm, subject: Subject) -> NormReport:
    tensors = tuple(_tensor(name, norm, subject) for name in norm.tensors if name in subject.checkpoint.tensors)
    return NormReport(norm, tensors, sum(subject.checkpoint.tensors[tensor.name].elements for tensor in tensors))


def _tensor(name: str, norm: Norm, subject: Subject) -> TensorReport:
    info = subject.checkpoint.tensors[name]
    bare = TensorReport(name, "gain" if name == norm.gain else "bias", info.shape, info.dtype)
    stored, values = subject.values.get(name), subject.arrays.get(name)
    if stored is None or values is None:
        return bare
    drawn = _drawn(values) if subject.demand.pictures else None
    import numpy as np

    from ln_audit.formats.dtypes import array
    from ln_audit.numerics.parameters import value_sha256

    digest = hashlib.sha256(stored.data).hexdigest() if stored.exact else None
    offset = norm.weight_offset if name == norm.gain else 0.0
    value_digest = value_sha256(array(stored), offset) if stored.exact else None
    finite = values[np.isfinite(values)]
    if finite.size == 0 or finite.size < values.size:
        return TensorReport(name, bare.role, info.shape, info.dtype, digest, value_digest, channels=drawn)
    with np.errstate(over="ignore", invalid="ignore"):
        std = float(finite.std())  # infinite where squares leave float64
    return TensorReport(
        name,
        bare.role,
        info.shape,
        info.dtype,
        digest,
        value_digest,
        mean=float(finite.mean()),
        std=std,
        min=float(finite.min()),
        max=float(finite.max()),
        argmin=int(finite.argmin()),
        argmax=int(finite.argmax()),
        histogram=histogram(finite),
        channels=drawn,
    )


def histogram(values: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Counts over equal bins from the least to the largest; none where float64 has no such bins between them."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.linspace(values.min(), values.max(), _BINS + 1)
        if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            return ()
    return tuple(int(n) for n in np.histogram(values, bins=edges)[0])


def _drawn(values: np.ndarray[Any, Any]) -> Channels | None:
    """What a picture of a tensor shows; of one without elements there is none."""
    from ln_audit.numerics.channels import channels

    return channels(values) if values.size else None


def parameters(subject: Subject, norms: tuple[NormReport, ...]) -> Parameters:
    """The three counts; null with a reason where the family is unknown."""
    if subject.family is None:
        return Parameters(
            final_norm=sum(entry.parameters for entry in norms) or None,
            reason="the family is unknown: buffers and tied tensors are too",
        )
    final = [entry for entry in norms if entry.norm.role == "final" and entry.norm.main]
    stack = next(
        (entry.norm.stack for entry in reversed(final)), None
    )  # the decoder's, where an encoder stands before it
    return Parameters(
        final_norm=sum(entry.parameters for entry in final if entry.norm.stack == stack) if final else None,
        all_norms=sum(entry.parameters for entry in norms),
        checkpoint=count(subject.checkpoint, subject.readings),
    )


def not_checked(subject: Subject, source: Source) -> Iterator[str]:
    """What a reader might believe was looked at and was not."""
    if unread := subject.unread():
        yield f"values of {len(unread)} norms: not read (--values all reads them)"
    recorded = {comparison.norm for comparison in subject.comparisons}
    if recorded and (alone := [norm for norm in subject.norms if norm.tensors and norm.name not in recorded]):
        yield f"values of {len(alone)} norms: no recording of them, so another plausible value would have passed"
    if subject.family is None and subject.norms:
        taken = [name for norm in subject.norms for name in norm.tensors]
        if others := recognise.candidates(subject.checkpoint, subject.config, taken):
            yield f"what else may be a norm: {', '.join(others)}: not looked at, the family is unknown"
    compared = {Path(comparison.recording).name for comparison in subject.comparisons}
    for name in subject.checkpoint.beside if source.kind != "sample" else ():
        if name not in compared:
            yield f"{name}: not read: {subject.checkpoint.files[0]} was taken"
    yield from _unknown(subject)
    if subject.config is not None and subject.config.repeated:
        yield f"{subject.config.where}: {', '.join(subject.config.repeated[:4])}: written more than once, the last counts"
    functions = [fact for fact in subject.checkpoint.declared if fact.key == "functions not looked into"]
    yield from (f"{f.where}: {f.value} local functions: not looked into, they may compute norms" for f in functions)
    if source.kind == "hub" and source.entry is None:
        yield "other files of the repository: not listed"
    yield "every tensor that is no norm: only its name, dtype, shape and place in the file were read"


def _unknown(subject: Subject) -> Iterator[str]:
    """Models inside the model, and dtypes, that are not known here."""
    if subject.family is not None:
        for part in unknown_parts(subject.family, subject.config):
            yield f"{part}: a model inside the model that no family is known for: not looked at"
    unknown = sorted({info.dtype for info in subject.checkpoint.tensors.values()} - set(DTYPES))
    if unknown and subject.checkpoint.format == "safetensors":
        yield f"tensors of unknown dtype ({', '.join(unknown[:4])}): older readers refuse the file"
