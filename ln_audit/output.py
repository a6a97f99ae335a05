"""Where reports and errors are written: reports to standard output and files, everything else to standard error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ln_audit import reports, terminal
from ln_audit.errors import LnAuditError, SourceError, UsageError
from ln_audit.printable import one_line
from ln_audit.reports.document import Run, exit_code
from ln_audit.result import Failure, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ln_audit.demand import Demand, Policy

BUG = 4
_REPORTING = ("verify", "report")  # commands whose --output is a report; that of `lock` and `record` is something else


@dataclass(frozen=True, slots=True)
class Writer:
    """How and where this call writes: the format for standard output, and (format, file) for each --output.

    `command` are the words of the call.
    """

    shown: reports.Output
    files: tuple[tuple[reports.Output, Path], ...]
    quiet: bool
    verbose: bool
    colour: bool
    command: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        shown: str,
        files: Iterable[str],
        *,
        quiet: bool,
        verbose: bool,
        no_color: bool,
        command: Sequence[str] | None = (),
        demand: Demand | None = None,
    ) -> Writer:
        """The writer that the options ask for; no file of it is one that `command` or `demand` reads. Raises `UsageError`."""
        found = reports.find(shown)
        colour = terminal.shows_colour(sys.stdout) and not no_color
        pairs = tuple(_pair(word, found) for word in files)
        for each in (found, *(output for output, _ in pairs)):
            each.check()
        made = cls(found, pairs, quiet, verbose, colour, tuple(command or ()))
        if pairs:
            made.refuse(demand)
        return made

    def refuse(self, demand: Demand | None) -> None:
        """Raises `UsageError`, before any work is done, where no file can be, or where one is that the call reads."""
        from ln_audit import destination  # of nobody who asks for no file

        paths = [path for _, path in self.files]
        destination.refuse_twice(paths)
        read = [*destination.words_of(self.command), *(() if demand is None else destination.read_by(demand))]
        for path in paths:
            destination.refuse_no_file(path)
            destination.refuse_read(path, read)

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
        self,
        found: Sequence[Report],
        policy: Policy | None = None,
        text: Callable[[Run, int | None], str] | None = None,
    ) -> int:
        """Write the reports and return the exit code. Raises `UsageError` for a file that cannot be written."""
        run = Run(tuple(found), exit_code(found), policy=policy, command=self.command)
        for report_format, path in self.files:
            write_file(path, report_format.render(run))
        if self.shown.NAME != "text":
            _show(self.shown, run)
            return run.exit_code
        from ln_audit.reports import text as plain_text

        width = terminal.width(sys.stdout)
        told = (
            plain_text.write(run, quiet=self.quiet, verbose=self.verbose, width=width)
            if text is None
            else text(run, width)
        )
        emit(terminal.coloured(told) if self.colour else told)
        return run.exit_code


def _pair(word: str, otherwise: reports.Output) -> tuple[reports.Output, Path]:
    """FILE, or FORMAT=FILE. Raises `UsageError` for a word before the = that is no format: a mistyped one is no file's name."""
    from ln_audit import destination  # of nobody who asks for no file

    before, equals, after = word.partition("=")
    if not equals or not before.replace("-", "").replace("_", "").isalnum():
        path = destination.named(word)
        return reports.of_file(word, otherwise), path
    try:
        return reports.find(before), destination.named(after)
    except UsageError as error:
        message = error.message.replace("--format", f"--output {word}", 1)
        raise UsageError(message, hint=error.hint or f"a file of that name is written ./{word}") from error


def _show(shown: reports.Output, run: Run) -> None:
    """The report on standard output, and on GitHub the step's summary beside it."""
    emit(shown.render(run))
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if shown.NAME == "github" else None
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(reports.find("markdown").render(run))
        except (OSError, ValueError) as error:  # the annotations and the exit code say what it would have said
            complain(f"ln-audit: GITHUB_STEP_SUMMARY: expected a file to append to, found: {one_line(str(error))}\n")


class _UndeliveredError(SourceError):
    """Standard output is closed or full: whoever asked for files has them already."""

    @property
    def kind(self) -> str:
        """As every fault of a source."""
        return "source"


def emit(text: str) -> None:
    """Write to standard output, whatever characters its encoding lacks. Raises `SourceError` when nobody can read it.

    A report that could not be delivered is no pass: that is exit 3, and a reader that left (`| head`) is no bug of ours.
    """
    if sys.stdout is None:
        raise _UndeliveredError("standard output: expected it open, found it closed")
    try:
        _write_all(sys.stdout, text)
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else str(error)
        with contextlib.suppress(OSError, ValueError):  # or the interpreter tries once more at its end, and exits 120
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise _UndeliveredError(f"standard output: expected to write the report, found: {told}") from error


def _write_all(stream: TextIO, text: str) -> None:
    """Every byte or an error. An unbuffered stream (PYTHONUNBUFFERED) may take part of a write and say nothing."""
    raw = getattr(stream, "buffer", None)
    if raw is None:  # replaced by something that takes text
        stream.write(text)
        return
    stream.flush()
    rest = memoryview(terminal.encoded(text, stream.encoding))
    while rest:
        rest = rest[raw.write(rest) or 0 :]
    raw.flush()


def write_file(path: Path, content: str) -> None:
    """Whole or not at all: a reader never sees half a report under the final name.

    What exists and is no ordinary file (a device, a pipe) is written to, never replaced; a link keeps its place.
    """
    draft: Path | None = None
    try:
        if path.exists() and not path.is_file():  # before it is resolved: /dev/fd/63 of a shell leads to no name
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a directory")
            path.write_text(content, encoding="utf-8")
            return
        target = path.resolve(strict=False)
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

    run = Run((report,), int(report.verdict), policy=policy)
    told = plain_text.write(run, quiet=False, verbose=False, width=terminal.width(sys.stdout))
    if path == "-":  # a reader waits for a lock there, and a report is none
        complain(told)
    else:
        emit(told)
    complain(f"ln-audit: {one_line(path)}: not written: only what passes is locked, found {report.verdict.word}\n")
    return int(report.verdict)


def progress(done: int, total: int) -> None:
    """One line on a terminal's standard error that is written again and again, and gone at the end."""
    told = f"  {done:,} of {total:,} positions" if done < total else ""
    complain(f"\r\x1b[K{told}")


def no_progress(done: int, total: int) -> None:
    """Nobody is looking."""


def rejected(arguments: Sequence[str], error: LnAuditError, code: int) -> int:
    """Say why there is no report: a line on standard error, and the document in every format and file that was asked for."""
    hint = f"\n  → {error.hint}" if error.hint else ""
    complain(f"ln-audit: {error.message}{hint}\n")
    run = Run((), code, Failure(error.kind, error.message, error.hint), command=tuple(arguments))
    shown, files = _asked_for(arguments)
    for report_format, path in () if _keeps_files(error) else files:
        with contextlib.suppress(
            UsageError
        ):  # it may be the very file that could not be written; the exit code still says so
            write_file(path, report_format.render(run))
    if shown.NAME != "text":
        with contextlib.suppress(SourceError, UsageError):  # nobody reads it, or its library is what is missing
            _show(shown, run)
    return code


def _keeps_files(error: LnAuditError) -> bool:
    """Whether the files that were asked for stay as they are: they are written already, or hold what the call reads."""
    from ln_audit import destination

    return isinstance(error, (_UndeliveredError, destination.OverwritingError))


def complain(text: str) -> None:
    """Write to standard error; where that is closed too there is nobody to tell."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(terminal.encoded(text, sys.stderr.encoding).decode(sys.stderr.encoding or "utf-8"))
            sys.stderr.flush()


def bug(arguments: Sequence[str], error: Exception) -> int:
    """Our own fault: the traceback and where to report it, exit 4."""
    import traceback

    complain("".join(traceback.format_exception(error)))
    told = LnAuditError(
        f"a bug in ln-audit: {type(error).__name__}: {error}", hint="please report it with the lines above"
    )
    with contextlib.suppress(Exception):  # the bug may be in what writes the documents: the exit code is the same
        rejected(arguments, told, BUG)
    return BUG


def _asked_for(arguments: Sequence[str]) -> tuple[reports.Output, list[tuple[reports.Output, Path]]]:
    """What a call that was rejected asked for, as far as it can be told: the last --format wins, else the environment."""
    words = {"--format": os.environ.get("LN_AUDIT_FORMAT", "").split(), "--output": []}
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        if option in words:
            words[option].append(value if equals else following)
    shown = next((output for output in reports.REPORTS if output.NAME in words["--format"][-1:]), reports.find("text"))
    if next((word for word in arguments if not word.startswith("-")), "") not in _REPORTING:
        return shown, []
    from ln_audit import destination

    files, read = [], destination.words_of(arguments)
    for word in words["--output"] or os.environ.get("LN_AUDIT_OUTPUT", "").split():
        with contextlib.suppress(UsageError):
            output, path = _pair(word, shown)
            destination.refuse_no_file(path)
            destination.refuse_read(path, read)
            files.append((output, path))
    return shown, files
