"""How a report is written: one file per output, a plain function from the run to text. `REPORTS` is the registry."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

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


class Output(NamedTuple):
    """An output's line in the registry; its module, of the same name, is imported when it is asked for, and no sooner.

    A file with one of `SUFFIXES` is written in it where no format is named. `needs`: packages of the extra of its name.
    `pictures`: it shows what an audit keeps only where that is asked for.
    """

    NAME: str
    SUFFIXES: tuple[str, ...]
    needs: tuple[str, ...] = ()
    pictures: bool = False

    @property
    def module(self) -> ReportFormat:
        """The module."""
        return cast("ReportFormat", import_module(f"ln_audit.reports.{self.NAME}"))

    def render(self, run: Run) -> str:
        """The whole output, ending with a newline. Raises `UsageError` as `check` does."""
        self.check()
        return self.module.render(run)

    def check(self) -> None:
        """Raises `UsageError`, before any work is done, where a package that it needs is not installed."""
        for package in self.needs:
            if not _installed(package):
                told = f"--format {self.NAME}: expected the {package} package, found it not installed"
                raise UsageError(told, hint=f'pip install "ln-audit[{self.NAME}]"')


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # a module without a specification, as tests and embedders make them
        return package in sys.modules and sys.modules[package] is not None


REPORTS: tuple[Output, ...] = (
    Output("text", (".txt",)),
    Output("json", (".json",)),
    Output("markdown", (".md", ".markdown")),
    Output("junit", (".xml",)),
    Output("sarif", (".sarif", ".sarif.json")),
    Output("github", ()),
    Output("html", (".html", ".htm"), needs=("matplotlib", "jinja2"), pictures=True),
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
    """The output that a file's suffix names, else another.

    Raises `UsageError` for a suffix that names none where no format was asked for: text in it would be a surprise.
    """
    named = PurePath(file).name.lower()
    ends = [(len(suffix), output) for output in REPORTS for suffix in output.SUFFIXES if named.endswith(suffix)]
    if ends:
        return max(ends, key=lambda each: each[0])[1]
    unknown = PurePath(file).suffix
    if unknown and otherwise.NAME == "text":
        known = ", ".join(suffix for output in REPORTS for suffix in output.SUFFIXES)
        told = f"--output {file}: expected a suffix that names a format ({known}), found {shown(unknown)}"
        raise UsageError(told, hint=f"name the format before it: {', '.join(names())}, as in --output text={file}")
    return otherwise
