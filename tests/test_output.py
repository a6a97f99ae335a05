"""Where reports go, in which colour, and what a broken call says."""

import json

import pytest

from ln_audit import output
from ln_audit.errors import UsageError
from tests.reports.made import FAILED, REPORT


def writer(shown="text", files=(), **changes):
    return output.Writer.of(shown, files, **({"quiet": False, "verbose": False, "no_color": False} | changes))


def test_the_format_of_a_file_is_its_own_or_the_shown_one(tmp_path, capsys):
    assert writer("json", [f"text={tmp_path / 'a=b'}", str(tmp_path / "c=d")]).write((REPORT,)) == 0
    assert (tmp_path / "a=b").read_text().startswith("PASS")
    assert json.loads((tmp_path / "c=d").read_text()) == json.loads(capsys.readouterr().out)


def test_the_suffix_of_a_file_names_its_format(tmp_path):
    assert writer(files=[str(tmp_path / "out.json")]).write((REPORT,)) == 0
    assert json.loads((tmp_path / "out.json").read_text())["reports"]


def test_a_format_that_is_not_written_yet_is_no_name_of_a_file():
    with pytest.raises(UsageError, match="expected one of text, json, html, found 'sarif'"):
        writer(files=["sarif=out"])


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="--format: expected one of text, json, html, found 'yaml'"):
        writer("yaml")


def test_whether_pictures_are_asked_for_and_what_is_no_report_is_written_in_its_formats(tmp_path, capsys):
    assert not writer("json", ["x.txt"]).pictures
    asked = writer(files=[str(tmp_path / "x.html")]).only(("text", "html"))
    assert asked.pictures
    asked.tell(lambda form: f"as {form}")
    assert ((tmp_path / "x.html").read_text(), capsys.readouterr().out) == ("as html", "as text")
    with pytest.raises(UsageError, match="expected one of text, html, found 'json'"):
        writer(files=["x.json"]).only(("text", "html"))


def test_the_exit_code_is_returned_and_text_can_be_another(capsys):
    assert writer().write((FAILED,), text=lambda run: f"{len(run.reports)} report\n") == 1
    assert capsys.readouterr().out == "1 report\n"


def test_colour_is_added_to_the_word_and_takes_nothing_away():
    text = "PASS  x\n    ✗ LN001: y\n  plain\n"
    assert output.coloured(text) == "\x1b[32mPASS\x1b[0m  x\n    \x1b[31m✗\x1b[0m LN001: y\n  plain\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "asked"),
    [
        ([], "", False),
        (["--format", "json"], "", True),
        (["--format=json"], "", True),
        (["--format", "json", "--format", "text"], "", False),
        ([], "json", True),
        (["--format", "text"], "json", False),
        (["--format"], "", False),
    ],
)
def test_whether_json_was_asked_for(arguments, environment, asked, monkeypatch, capsys):
    monkeypatch.setenv("LN_AUDIT_FORMAT", environment)
    assert output.rejected(arguments, UsageError("no", hint="do this"), 2) == 2
    made = capsys.readouterr()
    assert made.err == "ln-audit: no\n  → do this\n"
    assert bool(made.out) == asked
