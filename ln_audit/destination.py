"""Where a report may be written: to a file, and not on top of what goes to standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.errors import UsageError
from ln_audit.formats import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ln_audit.demand import Demand, Rules

_OTHERS = ("config.json", "params.json", "ln-audit.toml", "pyproject.toml")
_OTHERS_SUFFIXES = (".index.json", ".lock", ".data")


class OverwritingError(UsageError):
    """A report may not be written where it was asked for, not even the one that says so."""


def named(file: str) -> Path:
    """The file for a report. Raises `UsageError` for what bears the name of a model's file, a lock or a policy: it would be lost."""
    names = {os.path.basename(each).lower() for each in (file, _led_to(file))}  # noqa: PTH119
    if any(name in _OTHERS or name.endswith((*SUFFIXES, *_OTHERS_SUFFIXES)) for name in names):
        raise UsageError(
            f"--output {file}: expected a file for a report, found the name of another kind of file", hint="report.json"
        )
    return Path(file)


def _led_to(file: str) -> str:
    """Where a link leads: what is there would be replaced."""
    return os.path.realpath(file) if os.path.islink(file) else file  # noqa: PTH114


def refuse_no_file(path: Path) -> None:
    """Raises `UsageError` for standard output, for a folder, and for a file in a folder that is not there.

    Devices and pipes are written to like files.
    """
    if str(path) == "-" or _is_standard_output(path):
        told = f"--output {path}: expected a file, found standard output, which gets the report of --format"
        raise UsageError(told, hint="--format json writes JSON there")
    if os.path.isdir(path):  # noqa: PTH112 - False for what can be no path: that is said when it is written to
        raise UsageError(f"--output {path}: expected a file that can be written, found: a directory")
    if not os.path.exists(path.parent):  # noqa: PTH110
        raise UsageError(f"--output {path}: expected a file that can be written, found: no folder {path.parent}")


def refuse_twice(paths: Sequence[Path]) -> None:
    """Raises `UsageError` for two reports in one file, however it is spelt."""
    for at, path in enumerate(paths):
        if any(_same(path, other) for other in paths[:at]):
            raise UsageError(f"--output {path}: expected a file of its own for each report, found it twice")


def refuse_read(path: Path, read: Iterable[str]) -> None:
    """Raises `OverwritingError` for a file that the call reads: the report would take its place."""
    if os.path.isfile(path) and any(_same(path, Path(os.path.expanduser(word))) for word in read):  # noqa: PTH111, PTH113
        raise OverwritingError(f"--output {path}: expected a file for a report, found one that the call reads")


def words_of(arguments: Sequence[str]) -> list[str]:
    """What words of a call may be files that it reads: all but those of --output."""
    found = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        if before != "--output" and not word.startswith("--output="):
            found += [word, word.partition("=")[2]]
    return [word for word in found if word]


def read_by(demand: Demand) -> Iterator[str]:
    """The files that a call reads by its options and its policy, and its targets where they are files."""
    policy = demand.policy
    asked: list[Demand | Rules] = [demand, *(() if policy is None else (own.rules for own in policy.targets))]
    for each in asked:
        yield from (word for word in (each.config, each.family, each.lock, each.against, *each.recordings) if word)
    if policy is not None:
        yield policy.path
        yield from (own.target for own in policy.targets)


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are one file, or will be."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or os.path.samefile(one, other)  # noqa: PTH121
    except (OSError, ValueError):  # one of them is not there
        return False


def _is_standard_output(path: Path) -> bool:
    """Whether a path is where standard output goes: /dev/stdout, or the file that the shell sends it to."""
    try:
        ours, theirs = os.fstat(sys.stdout.fileno()), path.stat()
        return os.path.samestat(ours, theirs) and path.resolve() != Path(os.devnull)
    except (OSError, ValueError, AttributeError, RuntimeError):  # it is none or closed; the path is not there
        return False
