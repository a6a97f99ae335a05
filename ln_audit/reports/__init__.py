"""How a report is written: one file per output, a plain function from the run to text. `REPORTS` is the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ln_audit.errors import UsageError
from ln_audit.reports import json, text

if TYPE_CHECKING:
    from ln_audit.reports.document import Run


class ReportFormat(Protocol):
    """A module of this folder."""

    NAME: str

    def render(self, run: Run) -> str:
        """The whole output, ending with a newline."""


REPORTS: tuple[ReportFormat, ...] = (text, json)


def find(name: str) -> ReportFormat:
    """The output called `name`. Raises `UsageError` for an unknown one."""
    for report_format in REPORTS:
        if name == report_format.NAME:
            return report_format
    raise UsageError(f"--format: expected one of {', '.join(f.NAME for f in REPORTS)}, found {name!r}")
