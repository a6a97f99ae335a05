"""An artifact's parameters against a lock's: equal bit for bit, equal after the rounding that their dtype implies, or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ln_audit.formats.dtypes import array
from ln_audit.lock.digests import digests
from ln_audit.lock.making import family_offset
from ln_audit.lock.schema import FLOAT64, STORED, VALUE
from ln_audit.numerics.parameters import value_sha256
from ln_audit.same_norm import keyed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm
    from ln_audit.lock.schema import Lock, Parameter, Role
    from ln_audit.same_norm import Key

Sameness = Literal["same", "rounded"]


@dataclass(frozen=True)
class Values:
    """A gain or bias as an artifact stores it, and what is added to it: here, and in the family's own files."""

    tensor: str
    dtype: str
    stored: NDArray[Any]
    offset: float
    family_offset: float

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """As a lock of this artifact would have them."""
        return digests(self.stored, self.offset, self.family_offset)

    @cached_property
    def exact(self) -> tuple[str, str]:
        """The digest that says all: its name, and the digest."""
        digest = value_sha256(self.stored, self.offset)
        return (FLOAT64, self.digests[FLOAT64]) if digest is None else (VALUE, digest)

    @property
    def rounding(self) -> str | None:
        """The name of the digest that a lock has for an artifact of this dtype and convention; None for none."""
        dtype = STORED.get(self.dtype)
        before = "_before_offset" if self.offset != 0 else ""
        return None if dtype is None else f"{dtype}{before}_sha256"


def values(subject: Subject, norm: Norm, role: Role, offset: float) -> Values | None:
    """One parameter of the artifact; None where it is not there, was not read, or is quantized."""
    tensor = norm.gain if role == "gain" else norm.bias
    stored = None if tensor is None else subject.values.get(tensor)
    if tensor is None or stored is None or not stored.exact:
        return None
    lacking = family_offset(norm, subject) if role == "gain" else 0.0
    return Values(tensor, stored.dtype, array(stored), offset if role == "gain" else 0.0, lacking)


def sameness(locked: Parameter, found: Values) -> Sameness | None:
    """Whether the found values are the locked ones, or those rounded to the dtype in which they are stored here."""
    name, digest = found.exact
    if locked.digests.get(name) == digest:
        return "same"
    rounding = found.rounding
    return "rounded" if rounding is not None and locked.digests.get(rounding) == digest else None


def in_doubt(subject: Subject) -> bool:
    """Whether nothing in the artifact says if its gains lack the family's offset (MLX)."""
    return subject.demand.offset is None and any(each.spelling.view.offset_unknown for each in subject.readings)


def offsets(subject: Subject, lock: Lock) -> dict[Key, float]:
    """What is added to each norm's stored gain; where the artifact does not say, the reading by which more are as locked."""
    norms = keyed(subject.norms)
    usual = {key: norm.weight_offset for key, norm in norms.items()}
    if not in_doubt(subject):
        return usual
    readings = (usual, dict.fromkeys(usual, 0.0))
    return max(readings, key=lambda reading: len(as_locked(subject, lock, reading)))


def as_locked(subject: Subject, lock: Lock, reading: Mapping[Key, float]) -> set[str]:
    """The names of norms whose gain is as locked, if `reading` is what is added to it."""
    locked = {norm.key: norm.gain for norm in lock.norms}
    found = set()
    for key, norm in keyed(subject.norms).items():
        part, ours = locked.get(key), values(subject, norm, "gain", reading[key])
        if part is not None and ours is not None and sameness(part, ours) is not None:
            found.add(norm.name)
    return found


def decided(subject: Subject) -> set[str]:
    """The norms of which the lock decides whether their gain lacks the family's offset."""
    lock = subject.demand.locked
    return set() if lock is None else as_locked(subject, lock, offsets(subject, lock))
