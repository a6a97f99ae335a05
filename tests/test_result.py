"""See test_core for the verdict; here: a report is frozen and its verdict a property of what it holds."""

from dataclasses import FrozenInstanceError, replace

import pytest

from ln_audit.result import Verdict
from tests.reports.made import REPORT, RULE


def test_the_verdict_is_computed_never_stored():
    with pytest.raises(FrozenInstanceError):
        REPORT.findings = ()  # type: ignore[misc]
    assert REPORT.verdict is Verdict.PASS
    assert replace(REPORT, findings=(RULE.failed("a", "b"),)).verdict is Verdict.FAIL
