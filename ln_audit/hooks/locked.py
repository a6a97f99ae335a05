"""From the files that a commit changes to the pairs of a model and the lockfile that it is held to."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.demand import Demand
from ln_audit.errors import UsageError
from ln_audit.formats import SUFFIXES
from ln_audit.formats.assembly import INDEX_SUFFIX
from ln_audit.hooks.changed import has_weights, of_checkpoint, targets
from ln_audit.lock.schema import DEFAULT_FILE
from ln_audit.policy import work
from ln_audit.policy.paths import same_place
from ln_audit.printable import one_line
from ln_audit.sources.local import only_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ln_audit.demand import Policy

_SUFFIX = ".lock"


class Held(NamedTuple):
    """A target, and the lockfile that it is held to."""

    target: str
    lock: str

    def same(self, other: Held) -> bool:
        """Whether both are the same, however they are spelt."""
        return same_place(self.target, other.target) and same_place(self.lock, other.lock)


def held(
    files: Sequence[str], target: str | None = None, lock: str | None = None, *, removed: Iterable[str] = ()
) -> tuple[Held, ...]:
    """What is to be held to what.

    With a target that one, to `lock` or else ln-audit.lock of the working directory. Without: every changed lockfile, and
    every changed model that has one. A folder's is `ln-audit.lock` inside it, a file's is named like the file, with `.lock`
    behind it. A changed model without a lockfile is held to none. `removed` files are gone: what is left of their model is
    held to its lock. Raises `UsageError` for a lockfile beside no model, and for one that was removed from beside its model.
    """
    if target is not None:
        return (Held(target, DEFAULT_FILE if lock is None else lock),)
    if lock is not None:
        raise UsageError(f"--lock={one_line(lock)}: expected --target=TARGET, which is held to it, found none")
    gone = [posixpath.normpath(file) for file in removed]
    for file in gone:
        _refuse_unlocking(file)
    locks = [file for file in files if is_lock(file)]
    found = [_locked(posixpath.normpath(file)) for file in dict.fromkeys((*locks, *_left_behind(gone)))]
    found += _of_models(targets(file for file in files if of_checkpoint(file)))
    return tuple(dict.fromkeys(found))


def by_policy(policy: Policy, files: Iterable[str], removed: Iterable[str] = ()) -> tuple[Held, ...]:
    """The targets to which a policy gives a lockfile, of those that the changed and removed files belong to.

    Every lockfile of the policy must be there and right, whatever changed. Raises `UsageError`.
    """
    work(Demand(policy=policy), ())
    touched = (*files, *removed)
    return tuple(own for own in pairs(policy) if any(_belongs(file, own.target, own.lock) for file in touched))


def pairs(policy: Policy) -> tuple[Held, ...]:
    """The targets to which a policy gives a lockfile."""
    return tuple(Held(own.target, own.rules.lock) for own in policy.targets if own.rules.lock is not None)


def _belongs(file: str, target: str, lock: str) -> bool:
    """Whether a file is a target's: itself, a checkpoint's in its folder, or its lockfile; also where it, or all of that, is gone."""
    places = [file, posixpath.dirname(file) or "."] if of_checkpoint(file) else [file]
    return any(
        posixpath.normpath(one) == posixpath.normpath(other) or same_place(one, other)
        for one, other in (*((place, target) for place in places), (file, lock))
    )


def is_lock(file: str) -> bool:
    """Whether a file is one of our lockfiles by its name: many programs call theirs `.lock`."""
    name = posixpath.basename(file)
    return name == DEFAULT_FILE or (
        name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX).lower().endswith((*SUFFIXES, INDEX_SUFFIX))
    )


def _refuse_unlocking(file: str) -> None:
    """A lockfile that is removed while its model stays would leave that one held to nothing."""
    model = _model_of(file)
    if is_lock(file) and model is not None:
        raise UsageError(
            f"{one_line(file)}: expected the lockfile of {one_line(model)}, found it removed",
            hint="bring it back; or, where that model shall be held to nothing, commit with SKIP=ln-audit-lock",
        )


def _left_behind(gone: Iterable[str]) -> Iterator[str]:
    """The lockfiles of models of which a file is gone."""
    for file in gone:
        for lock in (f"{file}{_SUFFIX}", posixpath.join(posixpath.dirname(file), DEFAULT_FILE)):
            if lock != file and os.path.isfile(lock) and of_checkpoint(file):  # noqa: PTH113
                yield lock


def _model_of(lock: str) -> str | None:
    """The model that a lockfile lies beside, or lay; None where there is none."""
    folder, name = posixpath.split(lock)
    if name == DEFAULT_FILE:
        return (folder or ".") if has_weights(folder) else None
    model = lock.removesuffix(_SUFFIX)
    return model if os.path.lexists(model) else None


def _locked(lock: str) -> Held:
    """The model that a lockfile lies beside. Raises `UsageError`."""
    model = _model_of(lock)
    if model is None:
        raise UsageError(
            f"{one_line(lock)}: expected the model that it locks beside it, found none",
            hint="say which: args: [--target=path/to/folder, --lock=ln-audit.lock]",
        )
    return Held(only_path(model), only_path(lock))


def _of_models(models: Iterable[str]) -> Iterator[Held]:
    """The models that have a lockfile: a file its own, else its folder's."""
    for target in models:
        lock = beside(target)
        if lock is not None:
            yield Held(target, only_path(lock))


def beside(target: str) -> str | None:
    """The lockfile that lies beside a model: a file's own, else its folder's; None where there is none."""
    folder = target if os.path.isdir(target) else posixpath.dirname(target)  # noqa: PTH112
    for lock in (f"{target}{_SUFFIX}", posixpath.join(folder, DEFAULT_FILE)):
        if os.path.isfile(lock):  # noqa: PTH113
            return posixpath.normpath(lock)
    return None
