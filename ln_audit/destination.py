"""Where a report may be written: to a file, and not on top of what goes to standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ln_audit.errors import UsageError


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


def _is_standard_output(path: Path) -> bool:
    """Whether a path is where standard output goes: /dev/stdout, or the file that the shell sends it to."""
    try:
        ours, theirs = os.fstat(sys.stdout.fileno()), path.stat()
        return os.path.samestat(ours, theirs) and path.resolve() != Path(os.devnull)
    except (OSError, ValueError, AttributeError, RuntimeError):  # it is none or closed; the path is not there
        return False
