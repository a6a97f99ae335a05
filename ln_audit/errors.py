"""The error tree: everything that can go wrong and is not a bug of ours.

    LnAuditError
    ├─ UsageError        the call, the policy or the lockfile is wrong   caught in cli.main → exit 2
    └─ AuditError        the input cannot be audited                     caught in audit.py → Report.error → exit 3
       ├─ SourceError        no bytes: missing, gated, network, cut short, changed while reading
       ├─ FormatError        bytes that are not what their name says
       │  └─ UnsupportedError    a format or dtype that this version does not read
       ├─ FamilyError        what the model promises is unknown or cannot be worked out
       └─ RecordingError     recorded hidden states that cannot be used

A message reads `<file or target>: <tensor, key or position>: expected <x>, found <y>`: one line, lower case, real values.
The way out, where there is one, goes into `hint`.
"""

from __future__ import annotations

from ln_audit.printable import one_line


class LnAuditError(Exception):
    """Root of every error that ln-audit raises on purpose; `hint` is the way out, or empty."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = one_line(message)
        self.hint = one_line(hint)
        super().__init__(self.message)
        if self.hint:  # a traceback ends with it, as the command line does
            self.add_note(f"→ {self.hint}")

    @property
    def kind(self) -> str:
        """A stable machine-readable name: `SourceError` → `source`, `UsageError` → `usage`; the root stands for a bug."""
        return "bug" if type(self) is LnAuditError else type(self).__name__.removesuffix("Error").lower()


class UsageError(LnAuditError):
    """The call, the policy or the lockfile is wrong (exit 2)."""


class AuditError(LnAuditError):
    """The input cannot be audited (exit 3)."""


class SourceError(AuditError):
    """Bytes could not be had: missing, gated, network, cut short, changed while reading."""


class FormatError(AuditError):
    """The bytes are not what their name says."""


class UnsupportedError(FormatError):
    """A format or dtype that this version does not read."""


class FamilyError(AuditError):
    """What the model promises of its norms is unknown or cannot be worked out."""


class RecordingError(AuditError):
    """Recorded hidden states that cannot be used."""
