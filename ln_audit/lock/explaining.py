"""Why a parameter is not the locked one, as far as its digest tells: which rounding, which constant, whose values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.lock.schema import FLOAT64, VALUE
from ln_audit.numerics.parameters import value_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.lock.holding import Values
    from ln_audit.lock.schema import Lock, LockedNorm, Parameter, Role

    Holders = Mapping[tuple[str, str, str], Sequence[LockedNorm]]

_CONSTANTS = (-1.0, 1.0, 2.0, -2.0)


def holders(lock: Lock) -> Holders:
    """(gain or bias, name of the digest, digest) → the norms that have it."""
    found: dict[tuple[str, str, str], list[LockedNorm]] = {}
    for norm in lock.norms:
        for role, part in norm.parts:
            for name, digest in part.digests.items() if part is not None else ():
                found.setdefault((role, name, digest), []).append(norm)
    return found


def explained(known: Holders, norm: LockedNorm, role: Role, locked: Parameter, found: Values) -> str:
    """One sentence: the likely cause, or that there is none to be told. `known` are the `holders` of the lock."""
    if found.stored.size != locked.elements:
        return "a part of it, or another model"
    return (
        _narrower(locked, found)
        or (_constant(locked, found) if role == "gain" else None)
        or _another(known, norm, role, found)
        or _initial(role, found)
        or "it differs: another model or revision, or values that were changed"
    )


def _narrower(locked: Parameter, found: Values) -> str | None:
    _, digest = found.exact
    for name in locked.digests:
        dtype = name.partition("_")[0]
        if name in (VALUE, FLOAT64):
            continue
        if locked.digests[name] == digest:
            return f"its values went through {dtype} before they were stored as {found.dtype}"
    exact = locked.digests.get(VALUE) or locked.digests.get(FLOAT64)
    for name, rounded in found.digests.items():
        if name not in (VALUE, FLOAT64) and rounded == exact:
            return f"the lock is of values rounded to {name.partition('_')[0]}, these are not: lock the wider ones"
    return None


def _constant(locked: Parameter, found: Values) -> str | None:
    """The family's 1 left out, added twice, or added where there is none: the artifact has locked + constant."""
    for constant in _CONSTANTS:
        if locked.digests.get(VALUE, "") == value_sha256(found.stored, found.offset - constant):
            return f"every gain is the locked one {constant:+g}: the converter mistook the family's convention"
    return None


def _another(known: Holders, norm: LockedNorm, role: Role, found: Values) -> str | None:
    name, digest = found.exact
    others = {
        other.key: other
        for each in (name, found.rounding or "")
        for other in known.get((role, each, digest), ())
        if other.key != norm.key
    }
    if len(others) != 1:  # many of equal values (all ones) say nothing
        return None
    (other,) = others.values()
    return f"these are the values of {other.name}: two norms changed places, or one was copied over the other"


def _initial(role: Role, found: Values) -> str | None:
    whole = found.stored.astype(np.float64) + found.offset
    start = 1.0 if role == "gain" else 0.0
    return "at its initial values, as a loader leaves what it did not find" if (whole == start).all() else None
