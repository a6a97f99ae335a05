"""Where reports and errors are written: reports to standard output and files, everything else to standard error."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ln_audit import reports
from ln_audit.errors import LnAuditError, UsageError
from ln_audit.report import Failure, Report
from ln_audit.reports.document import Run, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BUG = 4
_COLOURS = {"PASS": "32", "FAIL": "31", "INCOMPLETE": "33", "ERROR": "31", "✗": "31", "!": "33", "✓": "32", "–": "2"}


@dataclass(frozen=True, slots=True)
class Writer:
    """How and where this call writes: the format for standard output, and (format, file) for each --output."""

    shown: reports.ReportFormat
    files: tuple[tuple[reports.ReportFormat, Path], ...]
    quiet: bool
    verbose: bool
    colour: bool

    @classmethod
    def of(cls, shown: str, files: Iterable[str], *, quiet: bool, verbose: bool, no_color: bool) -> Writer:
        """The writer that the options ask for. Raises `UsageError` for an unknown format."""
        found = reports.find(shown)
        named = {report_format.NAME for report_format in reports.REPORTS}
        pairs = []
        for word in files:
            before, equals, after = word.partition("=")
            report_format = reports.find(before) if equals and before in named else found
            pairs.append((report_format, Path(after if equals and before in named else word)))
        colour = on_terminal(sys.stdout) and not no_color and not os.environ.get("NO_COLOR")
        return cls(found, tuple(pairs), quiet, verbose, colour)

    def write(self, found: Sequence[Report], text: Callable[[Run], str] | None = None) -> int:
        """Write the reports and return the exit code. Raises `UsageError` for a file that cannot be written."""
        run = Run(tuple(found), exit_code(found))
        for report_format, path in self.files:
            _write_file(path, report_format.render(run))
        if self.shown.NAME != "text":
            sys.stdout.write(self.shown.render(run))
        else:
            from ln_audit.reports import text as plain_text

            told = text(run) if text is not None else plain_text.write(run, quiet=self.quiet, verbose=self.verbose)
            sys.stdout.write(coloured(told) if self.colour else told)
        sys.stdout.flush()
        return run.exit_code


def _write_file(path: Path, content: str) -> None:
    """Whole or not at all: a reader never sees half a report under the final name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(content, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"--output {path}: expected a file that can be written, found: {error.strerror}") from error


def on_terminal(stream: TextIO) -> bool:
    """Whether a person is looking."""
    return stream.isatty()


def coloured(text: str) -> str:
    """The text with its verdicts and marks in colour; the words say the same without."""
    lines = []
    for line in text.splitlines(keepends=True):
        word = next((word for word in _COLOURS if line.lstrip().startswith(word)), None)
        lines.append(line if word is None else line.replace(word, f"\x1b[{_COLOURS[word]}m{word}\x1b[0m", 1))
    return "".join(lines)


def rejected(arguments: Sequence[str], error: LnAuditError, code: int) -> int:
    """Say why there is no report: one line on standard error, and the JSON document where JSON was asked for."""
    hint = f"\n  → {error.hint}" if error.hint else ""
    sys.stderr.write(f"ln-audit: {error.message}{hint}\n")
    if _asked_for_json(arguments):
        run = Run((), code, Failure(error.kind, error.message, error.hint))
        sys.stdout.write(reports.find("json").render(run))
    return code


def bug(arguments: Sequence[str], error: Exception) -> int:
    """Our own fault: the traceback and where to report it, exit 4."""
    import traceback

    traceback.print_exc()
    told = LnAuditError(
        f"a bug in ln-audit: {type(error).__name__}: {error}", hint="please report it with the lines above"
    )
    return rejected(arguments, told, BUG)


def closed_pipe() -> int:
    """The reader went away (`ln-audit … | head`): be silent, and never say that anything passed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 3


def _asked_for_json(arguments: Sequence[str]) -> bool:
    """Whether a call that could not be parsed asked for JSON: the last --format wins, else the environment."""
    wanted = os.environ.get("LN_AUDIT_FORMAT", "")
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if word == "--format":
            wanted = following
        elif word.startswith("--format="):
            wanted = word.removeprefix("--format=")
    return wanted == "json"
