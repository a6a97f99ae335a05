"""After a script has saved: what passes is returned, what does not is raised or said."""

import logging

import pytest

from ln_audit.errors import UsageError
from ln_audit.in_process import VerdictError
from ln_audit.saving import verify_saved
from tests.shared import FIXTURES

GOOD, BAD = FIXTURES / "good" / "gpt2-recorded", FIXTURES / "bad" / "LN101-not-finite"


def test_what_passes_is_returned():
    (report,) = verify_saved(GOOD, against=GOOD)
    assert report.against is not None
    assert (report.verdict.word, report.against.pairs) == ("pass", 5)


def test_what_does_not_pass_is_raised():
    with pytest.raises(VerdictError, match="LN101 not-finite") as raised:
        verify_saved(BAD)
    assert raised.value.reports[0].verdict.word == "fail"
    with pytest.raises(VerdictError, match=r"INCOMPLETE \./none: "):
        verify_saved("./none")


def test_or_said_where_that_is_asked_for(caplog):
    with caplog.at_level(logging.WARNING, logger="ln_audit"):
        (report,) = verify_saved(BAD, on_failure="warn")
    assert report.verdict.word == "fail"
    (said,) = [record.getMessage() for record in caplog.records]
    error = VerdictError([report])
    assert said == f"ln-audit: {error.message} → {error.hint}"
    assert said.startswith("ln-audit: FAIL ")


def test_what_passes_is_said_too_to_who_listens(caplog):
    with caplog.at_level(logging.INFO, logger="ln_audit"):
        verify_saved(GOOD)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"ln-audit: PASS {GOOD}")
    ]


def test_anything_else_is_refused():
    with pytest.raises(UsageError, match="on_failure: expected raise or warn, found 'ignore'"):
        verify_saved(GOOD, on_failure="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["live", "target", "policy", "nonsense"])
def test_an_option_that_is_none_is_said(name):
    with pytest.raises(UsageError, match="option: expected "):
        verify_saved(GOOD, **{name: 3})  # type: ignore[arg-type]


def test_what_was_saved_is_a_path_and_never_a_model_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("org/name", "gpt2", "sample", "https://host/x.safetensors"):
        (report,) = verify_saved(name, on_failure="warn")
        assert (report.source.kind, report.source.spec, report.verdict.word) == ("local", f"./{name}", "incomplete")
