"""From an audited artifact to its lock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ln_audit.formats.dtypes import array
from ln_audit.formats.shown import float32, shortest
from ln_audit.lock.data_version import data_version
from ln_audit.lock.schema import Lock, LockedFile, LockedNorm, Parameter
from ln_audit.printable import one_line, without_secrets
from ln_audit.same_norm import keyed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm, SourceKind
    from ln_audit.same_norm import Key

_PLACES = {"embedding": 0, "final": 2}  # what is not named stands between the two


def locked(subject: Subject, kind: SourceKind, hashes: Mapping[str, str]) -> Lock:
    """The lock of an artifact, its norms in the order of stacks, of the way through the model, and of names."""
    norms = [_locked_norm(key, norm, subject) for key, norm in keyed(subject.norms).items()]
    readings = {each.family.name: each.family for each in subject.readings}
    return Lock(
        tuple(sorted(norms, key=_place)),
        identity=_identity(subject.identity, kind),
        container=subject.checkpoint.format,
        revision=subject.revision,
        family=None if subject.family is None else subject.family.name,
        data=data_version(readings.values()) if readings else None,
        files=tuple(LockedFile(name, sha256) for name, sha256 in sorted(hashes.items())),
    )


def family_offset(norm: Norm, subject: Subject) -> float:
    """What the family's own files lack of this norm's gain, whatever this container does; 0 where they hold the gain itself."""
    promised = (row.weight_offset for each in subject.readings for row in each.family.norms if row.name == norm.pattern)
    return norm.weight_offset or next((offset for offset in promised if offset), 0.0)


def _locked_norm(key: Key, norm: Norm, subject: Subject) -> LockedNorm:
    stack, name, nth = key
    return LockedNorm(
        name,
        norm.role,
        norm.kind,
        stack,
        norm.layer,
        norm.width,
        None if norm.eps is None else shortest(float32(norm.eps), float32) + 0.0,  # -0.0 is 0.0
        nth,
        _parameter(norm.gain, norm.weight_offset, family_offset(norm, subject), subject),
        _parameter(norm.bias, 0.0, 0.0, subject),
    )


def _parameter(tensor: str | None, offset: float, lacking: float, subject: Subject) -> Parameter | None:
    """None where the artifact does not have it; without digests where its values were not read, or are not exact."""
    from ln_audit.lock.digests import digests

    info = subject.checkpoint.tensors.get(tensor or "")
    if info is None:
        return None
    stored = subject.values.get(info.name)
    known = {} if stored is None or not stored.exact else digests(array(stored), offset, lacking)
    return Parameter(info.elements, known)


def _identity(identity: str, kind: SourceKind) -> str:
    """What it is called; of a path only its last part, the rest is one machine's."""
    told = re.split(r"[/\\]", identity.rstrip("/\\"))[-1] if kind == "local" else without_secrets(identity)
    return one_line(told) or "."


def _place(norm: LockedNorm) -> tuple[object, ...]:
    words = [(len(word.lstrip("0")) if word.isdecimal() else -1, word) for word in re.split(r"(\d+)", norm.name)]
    layer = -1 if norm.layer is None else norm.layer
    return (norm.stack or "", _PLACES.get(norm.role, 1), layer, words, norm.nth)
