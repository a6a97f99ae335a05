"""What a failing recording may have been confused with: the checkpoint's other norms, and the recorded hidden states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import AuditError, RecordingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm, Rows, Stored
    from ln_audit.diagnosis.hypothesis import Other
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.recording import Recording

_MOST = 16_000_000  # bytes of other norms that are read for a diagnosis; GPT-2 XL's have 1.3 MB
_MOST_NORMS = 512


def norm_parameters(subject: Subject, norm: Norm) -> NormParameters | None:
    """Gain, bias and epsilon as the reference takes them; None when one that the norm must have was not read."""
    return _parameters(subject.values, norm)


def others(subject: Subject, norm: Norm) -> tuple[Other, ...]:
    """The other norms of this width with their values, in the model's order; those not read yet are read now.

    Where they cannot be read, what was read before has to do: a cause that is not found changes no verdict.
    """
    from ln_audit.diagnosis.hypothesis import Other

    known = [each for each in in_order(subject) if each.width in (norm.width, None)][:_MOST_NORMS]
    here = next((at for at, each in enumerate(known) if each.name == norm.name), 0)
    values = {**subject.values, **_unread(subject, known)}
    found = []
    for at, each in enumerate(known):
        parameters = _usable(values, each, norm.width) if each.name != norm.name else None
        if parameters is not None:
            found.append(Other(each.name, at - here, parameters))
    return tuple(found)


def in_order(subject: Subject) -> list[Norm]:
    """All norms as the rows go through them: embedding, then layer by layer as the family lists them, then final."""
    first: dict[str, int] = {}
    for at, norm in enumerate(subject.norms):
        first.setdefault(_place(norm), at)
    last = 1 + max((norm.layer for norm in subject.norms if norm.layer is not None), default=0)

    def key(norm: Norm) -> tuple[int, int]:
        layer = norm.layer if norm.layer is not None else last if norm.role == "final" else -1
        return layer, first[_place(norm)]

    return sorted(subject.norms, key=key)


def states(recording: Recording, key: str) -> Mapping[int, Rows]:
    """The hidden states that have the shape of the norm's input, each as rows whose `before` it is."""
    from ln_audit.recording.recording import NormRows

    before, after = recording.pairs[key]
    found: dict[int, Rows] = {}
    for number in recording.states:
        try:
            state = recording.state(number)
        except RecordingError:  # of a dtype that is not read, or empty: no candidate
            continue
        if state.shape == before.shape:
            found[number] = NormRows(state, after)
    return found


def _place(norm: Norm) -> str:
    return norm.pattern or norm.name


def _usable(values: Mapping[str, Stored], norm: Norm, width: int | None) -> NormParameters | None:
    """Its parameters, if they are whole; what is wrong with another norm is for other checks to say."""
    import numpy as np

    from ln_audit.formats.dtypes import decode

    try:
        parameters = _parameters(values, norm)
        if parameters is None:
            return None
        parameters.check(norm.name)
        held = [decode(values[name]) for name in norm.tensors if name in values]
    except AuditError:
        return None
    whole = all(each.shape == (width,) and np.isfinite(each).all() for each in held)
    return parameters if held and whole else None


def _parameters(values: Mapping[str, Stored], norm: Norm) -> NormParameters | None:
    from ln_audit.formats.dtypes import array
    from ln_audit.numerics.parameters import NormParameters

    needed = [name for name in norm.tensors if not (name == norm.bias and norm.bias_optional)]
    if norm.eps is None or any(name not in values for name in needed):
        return None
    found = {name: array(values[name]).reshape(-1) for name in norm.tensors if name in values}  # [1, 1, d] in graphs
    gain = None if norm.gain is None else found[norm.gain]
    bias = None if norm.bias is None else found.get(norm.bias)
    chain = None if norm.chain == "other" else norm.chain  # each is tried
    return NormParameters(norm.kind, gain, bias, norm.eps, norm.weight_offset, chain)


def _unread(subject: Subject, norms: list[Norm]) -> Mapping[str, Stored]:
    """The values of these norms that nobody has read, as many as are small enough; none where they cannot be had."""
    from ln_audit.formats.dtypes import readable

    tensors, wanted, room = subject.checkpoint.tensors, [], _MOST
    for name in (name for norm in norms for name in norm.tensors):
        info = tensors.get(name)
        if info is None or name in subject.values or not readable(info.dtype) or info.nbytes > room:
            continue
        wanted.append(name)
        room -= info.nbytes
    try:
        return dict(subject.checkpoint.read(wanted)) if wanted else {}
    except AuditError:  # a diagnosis that cannot go on must not hide what was found without it
        return {}
