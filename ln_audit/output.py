"""Where reports and errors are written: reports to standard output and files, everything else to standard error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ln_audit import reports
from ln_audit.errors import LnAuditError, SourceError, UsageError
from ln_audit.printable import one_line
from ln_audit.report import Failure, Report
from ln_audit.reports.document import Run, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ln_audit.demand import Policy

BUG = 4
_ANNOUNCED = ("markdown", "junit", "sarif", "github", "xml", "yaml")  # formats that this version does not write
_COLOURS = {"PASS": "32", "FAIL": "31", "INCOMPLETE": "33", "ERROR": "31", "✗": "31", "!": "33", "✓": "32", "–": "2"}


@dataclass(frozen=True, slots=True)
class Writer:
    """How and where this call writes: the format for standard output, and (format, file) for each --output."""

    shown: reports.Output
    files: tuple[tuple[reports.Output, Path], ...]
    quiet: bool
    verbose: bool
    colour: bool

    @classmethod
    def of(cls, shown: str, files: Iterable[str], *, quiet: bool, verbose: bool, no_color: bool) -> Writer:
        """The writer that the options ask for. Raises `UsageError` for an unknown format."""
        found = reports.find(shown)
        pairs = []
        for word in files:
            before, equals, after = word.partition("=")
            if equals and before in (*reports.names(), *_ANNOUNCED):
                pairs.append((reports.find(before), Path(after)))
            else:
                pairs.append((reports.of_file(word, found), Path(word)))
        colour = on_terminal(sys.stdout) and not no_color and not os.environ.get("NO_COLOR")
        for each in (found, *(output for output, _ in pairs)):
            each.check()
        return cls(found, tuple(pairs), quiet, verbose, colour)

    @property
    def pictures(self) -> bool:
        """Whether anything that is written shows pictures."""
        return any(each.pictures for each in (self.shown, *(output for output, _ in self.files)))

    def only(self, formats: Sequence[str]) -> Writer:
        """The writer, of what is no report and is not written in every format. Raises `UsageError` for another one."""
        for each in (self.shown, *(output for output, _ in self.files)):
            if each.NAME not in formats:
                raise UsageError(f"--format: expected one of {', '.join(formats)}, found {each.NAME!r}")
        return self

    def tell(self, told: Callable[[str], str]) -> None:
        """Write what is no report, as `told` has it in the format of that name. Raises what `write` raises."""
        for report_format, path in self.files:
            write_file(path, told(report_format.NAME))
        emit(told(self.shown.NAME))

    def write(
        self, found: Sequence[Report], policy: Policy | None = None, text: Callable[[Run], str] | None = None
    ) -> int:
        """Write the reports and return the exit code. Raises `UsageError` for a file that cannot be written."""
        run = Run(tuple(found), exit_code(found), policy=policy)
        for report_format, path in self.files:
            write_file(path, report_format.render(run))
        if self.shown.NAME != "text":
            emit(self.shown.render(run))
        else:
            from ln_audit.reports import text as plain_text

            told = text(run) if text is not None else plain_text.write(run, quiet=self.quiet, verbose=self.verbose)
            emit(coloured(told) if self.colour else told)
        return run.exit_code


def emit(text: str) -> None:
    """Write to standard output, whatever characters its encoding lacks. Raises `SourceError` when nobody can read it.

    A report that could not be delivered is no pass: that is exit 3, and a reader that left (`| head`) is no bug of ours.
    """
    if sys.stdout is None:
        raise SourceError("standard output: expected it open, found it closed")
    try:
        _write_all(sys.stdout, text)
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else str(error)
        with contextlib.suppress(OSError, ValueError):  # or the interpreter tries once more at its end, and exits 120
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SourceError(f"standard output: expected to write the report, found: {told}") from error


def _write_all(stream: TextIO, text: str) -> None:
    """Every byte or an error. An unbuffered stream (PYTHONUNBUFFERED) may take part of a write and say nothing."""
    raw = getattr(stream, "buffer", None)
    if raw is None:  # replaced by something that takes text
        stream.write(text)
        return
    stream.flush()
    rest = memoryview(text.encode(stream.encoding, "replace"))  # a console without ✓ shows ? instead
    while rest:
        rest = rest[raw.write(rest) or 0 :]
    raw.flush()


def write_file(path: Path, content: str) -> None:
    """Whole or not at all: a reader never sees half a report under the final name.

    What exists and is no ordinary file (a device, a pipe) is written to, never replaced; a link keeps its place.
    """
    draft: Path | None = None
    try:
        target = path.resolve(strict=False)
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a directory")
            target.write_text(content, encoding="utf-8")
            return
        draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
        draft.write_text(content, encoding="utf-8")
        draft.replace(target)
    except (OSError, ValueError, RuntimeError) as error:
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"--output {path}: expected a file that can be written, found: {told}") from error


def not_locked(report: Report, path: str, policy: Policy | None) -> int:
    """The report on a target that did not pass, and that there is no lock; the exit code is its verdict's."""
    from ln_audit.reports import text as plain_text

    told = plain_text.render(Run((report,), int(report.verdict), policy=policy))
    if path == "-":  # a reader waits for a lock there, and a report is none
        complain(told)
    else:
        emit(told)
    complain(f"ln-audit: {one_line(path)}: not written: only what passes is locked, found {report.verdict.word}\n")
    return int(report.verdict)


def on_terminal(stream: TextIO | None) -> bool:
    """Whether a person is looking."""
    return stream is not None and stream.isatty()


def progress(done: int, total: int) -> None:
    """One line on a terminal's standard error that is written again and again, and gone at the end."""
    told = f"  {done:,} of {total:,} positions" if done < total else ""
    complain(f"\r\x1b[K{told}")


def no_progress(done: int, total: int) -> None:
    """Nobody is looking."""


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
    complain(f"ln-audit: {error.message}{hint}\n")
    if _asked_for_json(arguments):
        run = Run((), code, Failure(error.kind, error.message, error.hint))
        with contextlib.suppress(SourceError):  # nobody reads it; the exit code still says so
            emit(reports.find("json").render(run))
    return code


def complain(text: str) -> None:
    """Write to standard error; where that is closed too there is nobody to tell."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(
                text.encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8")
            )
            sys.stderr.flush()


def bug(arguments: Sequence[str], error: Exception) -> int:
    """Our own fault: the traceback and where to report it, exit 4."""
    import traceback

    complain("".join(traceback.format_exception(error)))
    told = LnAuditError(
        f"a bug in ln-audit: {type(error).__name__}: {error}", hint="please report it with the lines above"
    )
    return rejected(arguments, told, BUG)


def _asked_for_json(arguments: Sequence[str]) -> bool:
    """Whether a call that could not be parsed asked for JSON: the last --format wins, else the environment."""
    wanted = os.environ.get("LN_AUDIT_FORMAT", "")
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if word == "--format":
            wanted = following
        elif word.startswith("--format="):
            wanted = word.removeprefix("--format=")
    return wanted == "json"
