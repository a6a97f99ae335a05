"""How a report is written: one file per output, a plain function from the run to text. `REPORTS` is the registry."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, cast

from ln_audit.errors import UsageError
from ln_audit.formats.shown import shown
from ln_audit.printable import did_you_mean

if TYPE_CHECKING:
    from ln_audit.reports.document import Run


class ReportFormat(Protocol):
    """What a module of this folder has to have to be an output; its functions have no `self`."""

    NAME: str

    def render(self, run: Run, /) -> str:
        """The whole output, ending with a newline."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output's line in the registry; its module, of the same name, is imported when it is asked for, and no sooner.

    A file with one of `SUFFIXES` is written in it where no format is named.
    """

    NAME: str
    SUFFIXES: tuple[str, ...]

    @property
    def module(self) -> ReportFormat:
        """The module."""
        return cast("ReportFormat", import_module(f"ln_audit.reports.{self.NAME}"))

    def render(self, run: Run) -> str:
        """The whole output, ending with a newline."""
        return self.module.render(run)


REPORTS: tuple[Output, ...] = (
    Output("text", (".txt",)),
    Output("json", (".json",)),
    Output("markdown", (".md", ".markdown")),
    Output("junit", (".xml",)),
    Output("sarif", (".sarif", ".sarif.json")),
    Output("github", ()),
)


def names() -> tuple[str, ...]:
    """What --format takes."""
    return tuple(output.NAME for output in REPORTS)


def find(name: str) -> Output:
    """The output called `name`. Raises `UsageError` for an unknown one."""
    for output in REPORTS:
        if name == output.NAME:
            return output
    raise UsageError(
        f"--format: expected one of {', '.join(names())}, found {shown(name)}", hint=did_you_mean(name, names())
    )


def of_file(file: str, otherwise: Output) -> Output:
    """The output that a file's suffix names, else another."""
    named = PurePath(file).name.lower()
    ends = [(len(suffix), output) for output in REPORTS for suffix in output.SUFFIXES if named.endswith(suffix)]
    return max(ends, key=lambda each: each[0])[1] if ends else otherwise
