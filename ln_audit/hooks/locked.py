"""From the files that a commit changes to the pairs of a model and the lockfile that it is held to."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import UsageError
from ln_audit.hooks.changed import has_weights, targets
from ln_audit.lock.schema import DEFAULT_FILE
from ln_audit.printable import one_line
from ln_audit.sources.local import only_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SUFFIX = ".lock"


class Held(NamedTuple):
    """A target, and the lockfile that it is held to."""

    target: str
    lock: str


def held(files: Sequence[str], target: str | None = None, lock: str | None = None) -> tuple[Held, ...]:
    """What is to be held to what.

    With a target that one, to `lock` or else ln-audit.lock of the working directory. Without: every changed lockfile, and
    every changed model that has one. A folder's is `ln-audit.lock` inside it, a file's is named like the file, with `.lock`
    behind it. A changed model without a lockfile is held to none. Raises `UsageError` for a changed lockfile beside no model.
    """
    if target is not None:
        return (Held(target, DEFAULT_FILE if lock is None else lock),)
    if lock is not None:
        raise UsageError(f"--lock={one_line(lock)}: expected --target=TARGET, which is held to it, found none")
    locks = [file for file in files if file.endswith(_SUFFIX)]
    found = [_locked(posixpath.normpath(file)) for file in locks]
    found += _of_models(targets(file for file in files if file not in locks))
    return tuple(dict.fromkeys(found))


def _locked(lock: str) -> Held:
    """The model that a lockfile lies beside."""
    folder, name = posixpath.split(lock)
    target = (folder or ".") if name == DEFAULT_FILE else lock.removesuffix(_SUFFIX)
    if not (has_weights(target) if name == DEFAULT_FILE else os.path.lexists(target)):
        raise UsageError(
            f"{one_line(lock)}: expected the model that it locks beside it, found none",
            hint="say which: args: [--target=path/to/folder, --lock=ln-audit.lock]",
        )
    return Held(only_path(target), only_path(lock))


def _of_models(models: Iterable[str]) -> Iterator[Held]:
    """The models that have a lockfile: a file its own, else its folder's."""
    for target in models:
        folder = target if os.path.isdir(target) else posixpath.dirname(target)  # noqa: PTH112
        for lock in (f"{target}{_SUFFIX}", posixpath.join(folder, DEFAULT_FILE)):
            if os.path.isfile(lock):  # noqa: PTH113
                yield Held(target, only_path(posixpath.normpath(lock)))
                break
