"""What a commit changes and what it removes, as git tells: pre-commit hands a hook no file that is gone, and perhaps none at all."""

from __future__ import annotations

import os
import subprocess

from ln_audit.errors import UsageError
from ln_audit.printable import first_line, one_line

_REFS = (
    "PRE_COMMIT_FROM_REF",
    "PRE_COMMIT_TO_REF",
)  # between which pre-commit was asked to look, instead of at the index


def in_repository() -> bool:
    """Whether the working directory is one of git's. Raises `UsageError` where git cannot tell."""
    made = _run("rev-parse", "--is-inside-work-tree")
    if made.returncode and b"not a git repository" not in made.stderr:
        raise _fault(made)
    return made.returncode == 0


def changed() -> tuple[str, ...]:
    """The files that are added or changed, below the working directory. Raises `UsageError` where git cannot tell."""
    return _differing("ACMRTUXB")


def removed() -> tuple[str, ...]:
    """The files that are gone: of one that is renamed, its old name. Raises `UsageError` where git cannot tell."""
    return _differing("D")


def before(file: str) -> bytes | None:
    """What a file held before the change; None where it was not there. Raises `UsageError` where git cannot tell."""
    refs = _refs()
    base = _run("merge-base", *refs) if refs else _run("rev-parse", "--verify", "--quiet", "HEAD")
    if base.returncode:  # of the first commit of all there is none
        return None
    name, commit = os.path.relpath(file), os.fsdecode(base.stdout.strip())
    listed = _run("--literal-pathspecs", "ls-tree", "-z", "--name-only", commit, "--", name)
    if listed.returncode or not listed.stdout:  # it lies outside of the repository, or was not there
        return None
    made = _run("cat-file", "blob", f"{commit}:./{name}")
    if made.returncode:
        raise _fault(made)
    return made.stdout


def _refs() -> list[str]:
    refs = [os.environ.get(name, "") for name in _REFS]
    return refs if all(refs) else []


def _differing(kinds: str) -> tuple[str, ...]:
    between = "...".join(_refs()) or "--staged"
    shape = ("--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", f"--diff-filter={kinds}")
    made = _run("diff", *shape, between, "--")
    if made.returncode:
        raise _fault(made)
    return tuple(os.fsdecode(name) for name in made.stdout.split(b"\0") if name)


def _run(*words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - no word of it is a file's name
            ["git", *words],  # noqa: S607 - the one that runs the hook
            env=os.environ | {"LC_ALL": "C"},
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"git: expected it to tell what changes, found: {first_line(error)}") from error


def _fault(made: subprocess.CompletedProcess[bytes]) -> UsageError:
    told = one_line(made.stderr.decode(errors="replace").strip().partition("\n")[0])
    return UsageError(f"git: expected it to tell what changes, found: {told}")
