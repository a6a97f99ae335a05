"""One error tree; each kind has its own stable name."""

import traceback

import pytest

from ln_audit import errors


@pytest.mark.parametrize(
    ("kind", "name", "parent"),
    [
        (errors.UsageError, "usage", errors.LnAuditError),
        (errors.SourceError, "source", errors.AuditError),
        (errors.FormatError, "format", errors.AuditError),
        (errors.UnsupportedError, "unsupported", errors.FormatError),
        (errors.FamilyError, "family", errors.AuditError),
        (errors.RecordingError, "recording", errors.AuditError),
    ],
)
def test_every_error_has_a_kind_and_a_place_in_the_tree(kind, name, parent):
    error = kind("message", hint="way out")
    assert (error.kind, error.message, error.hint, str(error)) == (name, "message", "way out", "message")
    assert kind.__mro__[1] is parent


def test_the_root_stands_for_a_bug():
    assert errors.LnAuditError("x").kind == "bug"


def test_a_usage_error_is_no_audit_error():
    assert not issubclass(errors.UsageError, errors.AuditError)


def test_a_traceback_ends_with_the_way_out():
    told = "".join(traceback.format_exception_only(errors.UsageError("--eps: no", hint="give\none")))
    assert told.endswith("UsageError: --eps: no\n→ give\\none\n")
    assert not hasattr(errors.UsageError("--eps: no"), "__notes__")
